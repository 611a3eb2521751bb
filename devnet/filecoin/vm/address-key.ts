import { decodeAddress, encodeAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'

/** Returns an address as a map key. The checksum is left out, because each call would have to hash it. */
export function addressKey(address: FilecoinAddress): string {
  return Buffer.from(encodeAddress(address)).toString('hex')
}

export function addressOfKey(key: string): FilecoinAddress | null {
  return decodeAddress(Uint8Array.from(Buffer.from(key, 'hex')))
}
