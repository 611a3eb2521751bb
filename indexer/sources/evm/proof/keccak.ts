import { createKeccak } from 'hash-wasm'
import { bytesOf } from './rlp.ts'

/** One hasher serves all calls, because each call begins and ends in one turn. */
const hasher = await createKeccak(256)

/** Returns the Keccak-256 hash of bytes; both are hex without 0x. Throws a BadAnswer when a character is no hex digit. */
export function keccakText(hex: string): string {
  return hasher.init().update(bytesOf(hex)).digest('hex')
}
