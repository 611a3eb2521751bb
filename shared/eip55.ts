import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** (pure) The EIP-55 spelling of an Ethereum address in any letter case; null if `text` is not one. */
export function eip55(text: string): string | null {
  const digits = /^0x([0-9a-fA-F]{40})$/.exec(text)?.[1]?.toLowerCase()
  if (digits === undefined) return null
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)))
  const spelled = digits.replaceAll(/[a-f]/g, (digit, at: number) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${spelled}`
}
