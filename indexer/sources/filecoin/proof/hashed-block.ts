import { encodeAddress, parseAddress } from '../../../../shared/filecoin/address.ts'
import { parseCid } from '../../../../shared/filecoin/block-cid.ts'
import { blockHeaderCid, type BlockHeader } from '../../../../shared/filecoin/block-header.ts'
import { encodeBigInt } from '../../../../shared/filecoin/big-integer.ts'
import { remembering } from '../../../../shared/remembering.ts'
import { BadAnswer } from '../../rpc/rpc-error.ts'
import { amount, integer, itemsOf, isRecord, record, textOf, wholeNumber } from '../decode-json.ts'

/**
 * (pure) A block header of a node's answer, reduced to the fields that are read later and the CID computed from all of
 * its fields. The JSON of Lotus holds every field of the hashed CBOR, so hashing costs no further request. The fields
 * hold the node's values, which may be malformed.
 */
export class HashedBlock {
  readonly Height: unknown
  readonly Parents: unknown
  readonly Timestamp: unknown
  readonly ParentMessageReceipts: unknown
  readonly Messages: unknown
  /** 38 bytes; null when a field is missing or malformed. */
  readonly cid: Uint8Array | null

  constructor(block: Record<string, unknown>) {
    this.Height = block['Height']
    this.Parents = block['Parents']
    this.Timestamp = block['Timestamp']
    this.ParentMessageReceipts = block['ParentMessageReceipts']
    this.Messages = block['Messages']
    this.cid = cidOfHeader(block)
  }
}

function cidOfHeader(block: Record<string, unknown>): Uint8Array | null {
  try {
    return blockHeaderCid(headerOf(block))
  } catch (error) {
    if (error instanceof BadAnswer || error instanceof RangeError) return null
    throw error
  }
}

function headerOf(block: Record<string, unknown>): BlockHeader {
  const { Ticket: ticket, ElectionProof: election } = block
  return {
    miner: minerOf(textOf(block['Miner'], 'miner')),
    ticket: ticket === null ? null : base64Of(record(ticket, 'ticket')['VRFProof']),
    electionProof: election === null ? null : electionOf(record(election, 'election proof')),
    beaconEntries: itemsOf(block['BeaconEntries'], 'beacon entries').map((item) => {
      const { Round, Data } = record(item, 'beacon entry')
      return { round: numberOf(Round), data: base64Of(Data) }
    }),
    winPoStProof: itemsOf(block['WinPoStProof'], 'proofs').map((item) => {
      const { PoStProof, ProofBytes } = record(item, 'proof')
      return { type: numberOf(PoStProof), bytes: base64Of(ProofBytes) }
    }),
    parents: itemsOf(block['Parents'], 'parents').map(linkOf),
    parentWeight: bigIntegerOf(textOf(block['ParentWeight'], 'weight')),
    height: numberOf(block['Height']),
    parentStateRoot: linkOf(block['ParentStateRoot']),
    parentMessageReceipts: linkOf(block['ParentMessageReceipts']),
    messages: linkOf(block['Messages']),
    blsAggregate: signatureOf(block['BLSAggregate']),
    timestampS: numberOf(block['Timestamp']),
    blockSig: signatureOf(block['BlockSig']),
    forkSignaling: numberOf(block['ForkSignaling']),
    parentBaseFee: bigIntegerOf(textOf(block['ParentBaseFee'], 'base fee')),
  }
}

function electionOf({ WinCount, VRFProof }: Record<string, unknown>): BlockHeader['electionProof'] {
  return { winCount: numberOf(WinCount), vrfProof: base64Of(VRFProof) }
}

/** Miners recur, and the blocks of a tipset share weight and base fee. */
const MOST_REMEMBERED = 2_000

const minerOf = remembering(MOST_REMEMBERED, (text) => {
  const address = parseAddress(text)
  if (address === null) throw new BadAnswer('miner: no address')
  return encodeAddress(address)
})

const bigIntegerOf = remembering(MOST_REMEMBERED, (text) => encodeBigInt(amount(text, 'big integer')))

/** A bare number of any size, without the cost of a bigint for small ones. */
function numberOf(value: unknown): number | bigint {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : integer(value, 'number')
}

function linkOf(value: unknown): Uint8Array {
  const cid = isRecord(value) ? parseCid(textOf(value['/'], 'CID')) : null
  if (cid === null) throw new BadAnswer('CID: malformed')
  return cid
}

function signatureOf(value: unknown): BlockHeader['blockSig'] {
  if (value === null) return null
  const { Type, Data } = record(value, 'signature')
  return { type: wholeNumber(Type, 'signature type'), data: base64Of(Data) }
}

/** Go writes empty bytes as null. Malformed text gives other bytes, and these another CID. */
function base64Of(value: unknown): Uint8Array {
  return value === null ? new Uint8Array() : Buffer.from(textOf(value, 'bytes'), 'base64')
}
