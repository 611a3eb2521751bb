import { decodeAddress, encodeAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'

/** An address as a key of maps: without the checksum, which would have to be hashed each time. */
export function addressKey(address: FilecoinAddress): string {
  return Buffer.from(encodeAddress(address)).toString('hex')
}

export function addressOfKey(key: string): FilecoinAddress | null {
  return decodeAddress(Uint8Array.from(Buffer.from(key, 'hex')))
}
