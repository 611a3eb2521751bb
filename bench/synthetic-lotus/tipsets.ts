import { cidText } from '../../devnet/filecoin/chain/block.ts'
import { encodeAddress, idAddress } from '../../shared/filecoin/address.ts'
import { encodeBigInt } from '../../shared/filecoin/big-integer.ts'
import { parseCid } from '../../shared/filecoin/block-cid.ts'
import { blockHeaderCid, type BlockHeader } from '../../shared/filecoin/block-header.ts'
import { cidOfBytes } from '../../shared/filecoin/cid.ts'

/** The shape of a synthetic Filecoin chain, which determines all of it. */
export interface LotusShape {
  /** Heights, each with a tipset of five blocks; the last is the newest final one. */
  tipsets: number
  /** Messages in each tipset that concern no channel. */
  messages: number
  /** Unix seconds. */
  genesisTimeS: number
}

/** CIDs to which headers commit. */
export interface Roots {
  /** Receipts of the tipset's messages; the next tipset's headers commit to them. */
  receipts: string
  /** Messages of each block. */
  messages: readonly string[]
}

export const EPOCH_S = 30
/** Heights above the final one: its child holds its results, and that child's child is the head. */
export const NOT_FINAL = 2
const BLOCKS = 5

const CID_CHARACTERS = 62
const FIRST_MINER = 1000
/** Proofs and signatures are as long as a real node's. */
const BLS_SIGNATURE = 2
const PROOF = new Uint8Array(96)
const POST_PROOF = new Uint8Array(192)
const SIGNATURE = { type: BLS_SIGNATURE, data: PROOF }
const WEIGHT = encodeBigInt(107_000_000_000n)
const BASE_FEE = encodeBigInt(100n)
const PROOF_TEXT = Buffer.from(PROOF).toString('base64')
const POST_PROOF_TEXT = Buffer.from(POST_PROOF).toString('base64')
const SIGNATURE_TEXT = `{"Type":${BLS_SIGNATURE},"Data":"${PROOF_TEXT}"}`
const STATE_ROOT = cidOfBytes(Uint8Array.of(0x80))

/** The tipsets of a synthetic chain. Only the CIDs and their places are stored, about 1 KB for each tipset. */
export class Tipsets {
  readonly #genesisTimeS: number
  readonly #roots: (height: number) => Roots
  readonly #cids: Buffer
  readonly #places = new Map<string, { height: number; block: number }>()

  constructor({ tipsets, genesisTimeS }: LotusShape, roots: (height: number) => Roots) {
    const heights = tipsets + NOT_FINAL + 1
    this.#genesisTimeS = genesisTimeS
    this.#roots = roots
    this.#cids = Buffer.alloc(heights * BLOCKS * CID_CHARACTERS)
    let parents: Uint8Array[] = []
    for (let height = 0; height < heights; height += 1) {
      const cids = blocks((block) => blockHeaderCid(this.#header(height, block, parents)))
      for (const [block, cid] of cids.entries()) {
        const text = cidText(cid)
        this.#cids.write(text, this.#place(height, block), 'latin1')
        this.#places.set(text, { height, block })
      }
      parents = cids
    }
  }

  /** Returns an index's name of the tipset: the CIDs of its blocks. */
  key(height: number): string {
    return blocks((block) => this.#cid(height, block)).join(',')
  }

  /** Returns where a block is; undefined for the CID of no block. */
  placeOf(link: unknown): { height: number; block: number } | undefined {
    return this.#places.get((link as { '/': string })['/'])
  }

  /** Returns the JSON-RPC text, as long as a real node's. */
  text(height: number): string {
    const links = (at: number): string => blocks((block) => `{"/":"${this.#cid(at, block)}"}`).join(',')
    const parents = height === 0 ? '' : links(height - 1)
    const texts = blocks((block) => this.#headerText(height, block, parents))
    return `{"Cids":[${links(height)}],"Blocks":[${texts.join(',')}],"Height":${height}}`
  }

  #header(height: number, block: number, parents: readonly Uint8Array[]): BlockHeader {
    const { receipts, messages, timeS } = this.#fieldsOf(height, block)
    return {
      miner: encodeAddress(idAddress(BigInt(FIRST_MINER + block))),
      ticket: PROOF,
      electionProof: { winCount: 1, vrfProof: PROOF },
      beaconEntries: [{ round: 12_345_678, data: PROOF }],
      winPoStProof: [{ type: 3, bytes: POST_PROOF }],
      parents,
      parentWeight: WEIGHT,
      height,
      parentStateRoot: linkOf(STATE_ROOT),
      parentMessageReceipts: linkOf(receipts),
      messages: linkOf(messages),
      blsAggregate: SIGNATURE,
      timestampS: timeS,
      blockSig: SIGNATURE,
      forkSignaling: 0,
      parentBaseFee: BASE_FEE,
    }
  }

  #headerText(height: number, block: number, parents: string): string {
    const { receipts, messages, timeS } = this.#fieldsOf(height, block)
    return `{"Miner":"t0${FIRST_MINER + block}","Ticket":{"VRFProof":"${PROOF_TEXT}"},"ElectionProof":{"WinCount":1,"VRFProof":"${PROOF_TEXT}"},"BeaconEntries":[{"Round":12345678,"Data":"${PROOF_TEXT}"}],"WinPoStProof":[{"PoStProof":3,"ProofBytes":"${POST_PROOF_TEXT}"}],"Parents":[${parents}],"ParentWeight":"107000000000","Height":${height},"ParentStateRoot":{"/":"${STATE_ROOT}"},"ParentMessageReceipts":{"/":"${receipts}"},"Messages":{"/":"${messages}"},"BLSAggregate":${SIGNATURE_TEXT},"Timestamp":${timeS},"BlockSig":${SIGNATURE_TEXT},"ForkSignaling":0,"ParentBaseFee":"100"}`
  }

  /** Fields that differ between headers. The results of the first tipset are in its own headers too. */
  #fieldsOf(height: number, block: number): { receipts: string; messages: string; timeS: number } {
    return {
      receipts: this.#roots(Math.max(0, height - 1)).receipts,
      messages: this.#roots(height).messages[block] ?? STATE_ROOT,
      timeS: this.#genesisTimeS + height * EPOCH_S,
    }
  }

  #cid(height: number, block: number): string {
    const place = this.#place(height, block)
    return this.#cids.toString('latin1', place, place + CID_CHARACTERS)
  }

  #place(height: number, block: number): number {
    return (height * BLOCKS + block) * CID_CHARACTERS
  }
}

function blocks<T>(make: (block: number) => T): T[] {
  return Array.from({ length: BLOCKS }, (_, block) => make(block))
}

function linkOf(cid: string): Uint8Array {
  return parseCid(cid) ?? new Uint8Array()
}
