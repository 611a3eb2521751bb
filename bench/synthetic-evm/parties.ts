import { getAddress } from 'ethers'
import { formatAddress, secp256k1Address } from '../../shared/filecoin/address.ts'
import { hash } from '../../test/helpers/random-chain.ts'

/** The parties of a synthetic chain. EVM addresses are checksummed. */
export interface Parties {
  contracts: { erc20Loans: string; erc20CollateralLock: string }
  people: { evm: string; fil: string }[]
  tokens: { address: string; decimals: number }[]
  /** Contracts and topics of logs that do not concern us. */
  strangers: { address: string; topics: string[] }[]
}

const PEOPLE = 200
const STRANGERS = 500

/** The same parties for the same seed. */
export function makeParties(seed: number): Parties {
  const address = (...parts: (string | number)[]): string => getAddress(`0x${hash(seed, ...parts).slice(26)}`)
  return {
    contracts: { erc20Loans: address('loans'), erc20CollateralLock: address('lock') },
    people: Array.from({ length: PEOPLE }, (_, index) => ({
      evm: address('person', index),
      fil: textBytes(filecoinAddress(seed, index)),
    })),
    tokens: [6, 8, 18, 18].map((decimals, index) => ({ address: address('token', index), decimals })),
    strangers: Array.from({ length: STRANGERS }, (_, index) => ({
      address: address('stranger', index).toLowerCase(),
      topics: [0, 1, 2].map((at) => hash(seed, 'topic', index, at)),
    })),
  }
}

/** Returns a text's bytes as `0x` hex. */
export function textBytes(text: string): string {
  return `0x${Buffer.from(text).toString('hex')}`
}

/** Returns a well-formed address without a known key. */
function filecoinAddress(seed: number, index: number): string {
  const digits = hash(seed, 'key', index).slice(2)
  return formatAddress(secp256k1Address(Buffer.from(`04${digits}${digits}`, 'hex')), 't')
}
