import { getAddress } from 'ethers'
import { remembering } from '../../../shared/remembering.ts'

/** The same parties and tokens recur. */
const MAX_REMEMBERED = 10_000

/** Returns the EIP-55 spelling of an address in lower-case hex. */
export const checksummed = remembering(MAX_REMEMBERED, (address) => getAddress(address))
