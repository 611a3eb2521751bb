import { getAddress } from 'ethers'

/** Addresses whose spelling is remembered: the same parties and tokens come again and again. */
const MAX_REMEMBERED = 10_000
const remembered = new Map<string, string>()

/** The EIP-55 spelling of an address in lower-case hex. */
export function checksummed(address: string): string {
  const known = remembered.get(address)
  if (known !== undefined) return known
  const spelled = getAddress(address)
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  remembered.set(address, spelled)
  return spelled
}
