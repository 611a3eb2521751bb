import { Token, Tokenizer, Type, decode, encode, type DecodeOptions, type EncodeOptions } from 'cborg'
import { CID } from 'multiformats/cid'
import { concatBytes, sameBytes } from './bytes.ts'
import { DecodeError } from './decode-error.ts'

/** A CID in CBOR: tag 42 around a zero byte and the CID's bytes. */
const CID_TAG = 42
/** Filecoin's types nest three deep; a hostile value nests thousands. */
const MAX_DEPTH = 32
/** Lotus reads at most 8,192 merges, of three items each. */
const MAX_ITEMS = 100_000

const DECODE_OPTIONS: DecodeOptions = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowBigInt: true,
  allowInfinity: false,
  allowNaN: false,
  retainStringBytes: true,
  tags: { [CID_TAG]: (content) => readTaggedCid(content()) },
}
const ENCODE_OPTIONS: EncodeOptions = { typeEncoders: { Object: encodeObject } }

/**
 * Reads token by token, so that excessive depth, too many items and unwanted kinds are refused before anything is
 * built.
 */
class GuardedTokenizer extends Tokenizer {
  private items = 0
  /** Items still missing from each open array or tag, the innermost last. */
  private readonly open: number[] = []

  override next(): Token {
    const token = super.next()
    if (++this.items > MAX_ITEMS) throw new DecodeError(`CBOR: more than ${MAX_ITEMS} items`)
    refuseUnwanted(token)
    this.count(token)
    return token
  }

  private count(token: Token): void {
    const wants = contentsOf(token)
    const last = this.open.length - 1
    if (last >= 0) this.open[last] = (this.open[last] ?? 0) - 1
    if (wants > 0) this.open.push(wants)
    while (this.open.length > 0 && this.open[this.open.length - 1] === 0) this.open.pop()
    if (this.open.length > MAX_DEPTH) throw new DecodeError(`CBOR: more than ${MAX_DEPTH} levels deep`)
  }
}

function contentsOf(token: Token): number {
  if (token.type === Type.tag) return 1
  return token.type === Type.array ? Number(token.value) : 0
}

/** Filecoin's types are tuples: neither maps nor floats. Text must be UTF-8. */
function refuseUnwanted(token: Token): void {
  if (token.type === Type.map) throw new DecodeError('CBOR: a map, where Filecoin has tuples only')
  if (token.type === Type.float) throw new DecodeError('CBOR: a float')
  if (token.type === Type.string) new TextDecoder('utf-8', { fatal: true }).decode(token.byteValue)
}

function readTaggedCid(content: unknown): CID {
  if (!(content instanceof Uint8Array) || content[0] !== 0)
    throw new DecodeError('CBOR: tag 42 without a CID')
  const cid = CID.decode(content.subarray(1))
  // The library treats an explicit version 0 as an omitted one and returns a different CID.
  if (!sameBytes(cid.bytes, content.subarray(1)))
    throw new DecodeError('CBOR: a CID with a written version 0')
  return cid
}

function encodeObject(value: unknown): Token[] {
  const cid = CID.asCID(value)
  if (cid === null) throw new TypeError('Filecoin has no CBOR for this object')
  return [new Token(Type.tag, CID_TAG), new Token(Type.bytes, concatBytes(Uint8Array.of(0), cid.bytes))]
}

/**
 * Decodes one whole CBOR item: arrays, byte strings (Uint8Array), text, booleans, null, CIDs and integers. An integer
 * is a number, or a bigint outside the safe range. Accepts only shortest forms, no indefinite lengths and no trailing
 * bytes. Throws only a {@link DecodeError}.
 */
export function decodeCbor(bytes: Uint8Array): unknown {
  // A Buffer would return slices that share its memory.
  const plain = plainBytes(bytes)
  try {
    const value: unknown = decode(plain, {
      ...DECODE_OPTIONS,
      tokenizer: new GuardedTokenizer(plain, DECODE_OPTIONS),
    })
    return value
  } catch (error) {
    if (error instanceof DecodeError) throw error
    throw new DecodeError(`CBOR: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : 'unreadable'
  return text.replace(/^CBOR decode error: /, '').slice(0, 120)
}

/** Encodes a value of the kinds that {@link decodeCbor} returns. */
export function encodeCbor(value: unknown): Uint8Array {
  return plainBytes(encode(value, ENCODE_OPTIONS))
}

/** Returns the same memory as a plain Uint8Array; libraries return Buffers where these exist. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
