import { base32 } from 'multiformats/bases/base32'
import { encodeAddress, idAddress } from '../../../shared/filecoin/address.ts'
import { encodeBigInt } from '../../../shared/filecoin/big-integer.ts'
import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import { encodeCbor } from '../../../shared/filecoin/cbor.ts'
import { BASE_FEE } from '../vm/execute-message.ts'
import { encodeUtf8 } from '../vm/utf8.ts'
import { ByteWriter } from './byte-writer.ts'
import { isBls, type SignedMessage } from './signed-message.ts'
import { cidOfBytes } from '../../../shared/filecoin/cid.ts'
import { parseCid } from '../codec.ts'

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

const writer = new ByteWriter(16_384)
const baseFeeBytes = encodeBigInt(BASE_FEE)
const NO_BYTES = new Uint8Array()
const noMessagesRoot = messagesRootOf([])
/** Prefix of a version 1 CID with dag-cbor and blake2b-256. */
const CID_PREFIX = [0x01, 0x71, 0xa0, 0xe4, 0x02, 32]
let drawn: { salt: string; height: number; bytes: Uint8Array } = {
  salt: '',
  height: -1,
  bytes: new Uint8Array(),
}
let recentLinks = new Map<string, Uint8Array>()

export function makeBlock(plan: BlockPlan, ancestry: Ancestry): Block & { order: string } {
  const header = headerOf(plan, ancestry)
  return { ...plan, cid: cidOfHeader(encodeHeader(header)), order: orderOf(header.ticket) }
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

/** Encodes the tuple of 16 that nodes hash, without beacon, proofs and signatures, which no code reads here. */
export function encodeHeader(header: Header): Uint8Array {
  writer.array(16).bytes(encodeAddress(idAddress(BigInt(header.miner))))
  writer.array(1).bytes(header.ticket)
  writer.array(2).unsigned(1).bytes(NO_BYTES)
  writer.array(0).array(0)
  writer.array(header.parents.length)
  for (const parent of header.parents) writer.link(parent)
  writer.bytes(encodeBigInt(BigInt(header.parentWeight))).unsigned(header.height)
  writer.link(linkOf(header.parentStateRoot)).link(linkOf(header.parentReceiptsRoot))
  writer.link(linkOf(header.messagesRoot)).nothing().unsigned(header.timestampS)
  return writer.nothing().unsigned(0).bytes(baseFeeBytes).take()
}

/** Commits, as the chain does, to `[BLS messages, secp256k1 messages]`, but each as a plain list of CIDs. */
function messagesRootOf(messages: readonly SignedMessage[]): string {
  const listed = (list: readonly SignedMessage[]): Uint8Array => encodeUtf8(list.map(({ cid }) => cid).join())
  const bls = messages.filter(isBls)
  const secp256k1 = messages.filter((message) => !isBls(message))
  return cidOfBytes(encodeCbor([cidOfBytes(listed(bls)), cidOfBytes(listed(secp256k1))]))
}

/** Same as `cidOfBytes`, at a third of the cost. */
function cidOfHeader(bytes: Uint8Array): string {
  const cid = new Uint8Array(38)
  cid.set(CID_PREFIX)
  cid.set(blake2b256(bytes), CID_PREFIX.length)
  // The encoder returns a rope of single letters; a copy takes a tenth of the memory.
  const text = Buffer.from(base32.encode(cid), 'latin1').toString('latin1')
  // The block's children will link to it.
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
