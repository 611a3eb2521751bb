import { parseHex } from './hex.ts'
import { viewLatest } from './ask-all.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'

const SYMBOL_SELECTOR = '0x95d89b41'
/** Most bytes of an answer that is kept. */
const LONGEST_ANSWER = 1024
const WORD = 32
const MOST_CHARACTERS = 32

/**
 * Letters, digits, punctuation, symbols and single spaces between them: no control, format (bidi), private or unassigned
 * characters, and no mark without its letter.
 */
const SHOWABLE = /^(?![\p{M} ])(?:[\p{L}\p{N}\p{P}\p{S}\p{M}]| (?! |$))+$/u
/** Characters without a width, and more marks on a letter than two, which would run into the lines above it. */
const MISLEADING = /\p{Default_Ignorable_Code_Point}|\p{M}{3}/u

/**
 * Asks a token for its `symbol()` in the newest state, for a symbol does not change with a block. Null where it has none
 * that can be shown. Throws a RetryableError when no endpoint answers.
 */
export async function readTokenSymbol(client: RpcClient, token: string): Promise<string | null> {
  const call = { to: token, data: SYMBOL_SELECTOR, longest: LONGEST_ANSWER }
  const [answer] = await viewLatest(client, 'token symbol', [call])
  return answer?.ok === true ? symbolIn(answer.result) : null
}

/**
 * (pure) The symbol in an answer: ABI text as ERC-20 says, or a bytes32 padded with zeros as some old tokens have it.
 * Null for anything else: an empty answer, malformed UTF-8, more than 32 characters, or characters that mislead.
 */
export function symbolIn(result: unknown): string | null {
  const hex = parseHex(result)
  const bytes = hex === null ? null : symbolBytes(Buffer.from(hex.slice(2), 'hex'))
  const text = bytes === null ? null : decodeUtf8(bytes)
  if (text === null || Array.from(text).length > MOST_CHARACTERS) return null
  return SHOWABLE.test(text) && !MISLEADING.test(text.normalize('NFD')) ? text : null
}

function symbolBytes(answer: Buffer): Buffer | null {
  if (answer.length === WORD) {
    const end = answer.indexOf(0)
    const text = end < 0 ? answer : answer.subarray(0, end)
    return answer.subarray(text.length).every((byte) => byte === 0) ? text : null
  }
  const offset = smallNumberAt(answer, 0)
  const length = offset === null ? null : smallNumberAt(answer, offset)
  if (offset === null || length === null || offset + WORD + length > answer.length) return null
  return answer.subarray(offset + WORD, offset + WORD + length)
}

/** The number in the word at `offset`, if it is at most the answer's length. */
function smallNumberAt(answer: Buffer, offset: number): number | null {
  const word = answer.subarray(offset, offset + WORD)
  if (word.length < WORD || word.subarray(0, WORD - 4).some((byte) => byte !== 0)) return null
  const number = word.readUInt32BE(WORD - 4)
  return number <= answer.length ? number : null
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
