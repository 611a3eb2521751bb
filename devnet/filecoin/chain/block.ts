import { base32 } from 'multiformats/bases/base32'
import { encodeAddress, idAddress } from '../../../shared/filecoin/address.ts'
import { encodeBigInt } from '../../../shared/filecoin/big-integer.ts'
import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import { blockCid, parseCid } from '../../../shared/filecoin/block-cid.ts'
import { encodeBlockHeader } from '../../../shared/filecoin/block-header.ts'
import { messagesRoot } from '../../../shared/filecoin/messages-root.ts'
import { BASE_FEE } from '../vm/execute-message.ts'
import { encodeUtf8 } from '../vm/utf8.ts'
import { isBls, type SignedMessage } from './signed-message.ts'

/** A miner's choices; the block's parents determine the rest of the header. */
export interface BlockPlan {
  /** Actor number. */
  miner: number
  /** Makes tickets differ between branches. */
  salt: string
  messages: readonly SignedMessage[]
}

export interface Block extends BlockPlan {
  cid: string
}

/** Fields that are equal in all blocks of a tipset. */
export interface Ancestry {
  height: number
  /** Unix seconds. */
  timestampS: number
  /** CIDs of the parents' blocks, as bytes. */
  parents: readonly Uint8Array[]
  parentWeight: number
  parentStateRoot: string
  parentReceiptsRoot: string
}

/** Header fields as they are hashed and shown; the proofs of a real chain are missing. */
export interface Header extends Ancestry {
  miner: number
  ticket: Uint8Array
  messagesRoot: string
}

const NO_BYTES = new Uint8Array()
const BASE_FEE_BYTES = encodeBigInt(BASE_FEE)
let drawn: { salt: string; height: number; bytes: Uint8Array } = {
  salt: '',
  height: -1,
  bytes: new Uint8Array(),
}
let recentLinks = new Map<string, Uint8Array>()
const noMessagesRoot = messagesRootOf([])

export function makeBlock(plan: BlockPlan, ancestry: Ancestry): Block & { order: string } {
  const header = headerOf(plan, ancestry)
  return { ...plan, cid: cidText(blockCid(encodeHeader(header))), order: orderOf(header.ticket) }
}

export function headerOf(plan: BlockPlan, ancestry: Ancestry): Header {
  const { miner, salt, messages } = plan
  const ticket = ticketOf(miner, salt, ancestry.height)
  const messagesRoot = messages.length === 0 ? noMessagesRoot : messagesRootOf(messages)
  return { ...ancestry, miner, ticket, messagesRoot }
}

/** Returns a lottery number: the branch's draw at this height, followed by the miner's number. */
function ticketOf(miner: number, salt: string, height: number): Uint8Array {
  if (drawn.salt !== salt || drawn.height !== height) {
    drawn = { salt, height, bytes: blake2b256(encodeUtf8(`${salt}/${height}`)) }
  }
  const ticket = new Uint8Array(34)
  ticket.set(drawn.bytes)
  ticket[32] = miner >>> 8
  ticket[33] = miner
  return ticket
}

/** Returns the miners in the order of their blocks in the tipset. */
export function inTicketOrder(miners: readonly number[], salt: string, height: number): number[] {
  const order = new Map(miners.map((miner) => [miner, orderOf(ticketOf(miner, salt, height))]))
  return [...miners].sort((a, b) => ((order.get(a) ?? '') < (order.get(b) ?? '') ? -1 : 1))
}

/** Blocks of a tipset are ordered by the hashes of their tickets; text is easy to compare. */
function orderOf(ticket: Uint8Array): string {
  return String.fromCharCode(...blake2b256(ticket))
}

/** Encodes the tuple that nodes hash, without beacon, proofs and signatures, which no code reads here. */
export function encodeHeader(header: Header): Uint8Array {
  return encodeBlockHeader({
    miner: encodeAddress(idAddress(BigInt(header.miner))),
    ticket: header.ticket,
    electionProof: { winCount: 1, vrfProof: NO_BYTES },
    beaconEntries: [],
    winPoStProof: [],
    parents: header.parents,
    parentWeight: encodeBigInt(BigInt(header.parentWeight)),
    height: header.height,
    parentStateRoot: linkOf(header.parentStateRoot),
    parentMessageReceipts: linkOf(header.parentReceiptsRoot),
    messages: linkOf(header.messagesRoot),
    blsAggregate: null,
    timestampS: header.timestampS,
    blockSig: null,
    forkSignaling: 0,
    parentBaseFee: BASE_FEE_BYTES,
  })
}

function messagesRootOf(messages: readonly SignedMessage[]): string {
  const links = (list: readonly SignedMessage[]): Uint8Array[] => list.map(({ cid }) => linkOf(cid))
  return cidText(
    messagesRoot(links(messages.filter(isBls)), links(messages.filter((message) => !isBls(message)))),
  )
}

/** Returns a CID's text, and remembers it for the headers that link to it. */
export function cidText(cid: Uint8Array): string {
  // The encoder returns a rope of single letters; a copy takes a tenth of the memory.
  const text = Buffer.from(base32.encode(cid), 'latin1').toString('latin1')
  rememberLink(text, cid)
  return text
}

/** Cached, because the same few CIDs are linked again and again. */
export function linkOf(cid: string): Uint8Array {
  const known = recentLinks.get(cid)
  if (known !== undefined) return known
  const bytes = parseCid(cid)
  if (bytes === null) throw new Error(`${cid} is no CID`)
  return rememberLink(cid, bytes)
}

function rememberLink(cid: string, bytes: Uint8Array): Uint8Array {
  if (recentLinks.size > 1000) recentLinks = new Map()
  recentLinks.set(cid, bytes)
  return bytes
}
