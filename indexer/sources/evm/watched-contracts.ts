import { getAddress } from 'ethers'
import type { EvmNetwork } from '../../../shared/config/networks.ts'
import type { AddressText, ContractRole } from '../../../shared/events/chain-event.ts'
import { bloomBits, type BloomBits } from './bloom.ts'
import { EVENT_LAYOUTS } from './contracts.ts'

/** A configured contract and the bloom bits that find its logs. */
export interface WatchedContract {
  role: ContractRole
  /** Checksummed. */
  address: AddressText
  startBlock: number
  idPrefix: string | null
  bits: BloomBits
  /** Maps each event's first topic to its bloom bits. */
  topicBits: ReadonlyMap<string, BloomBits>
}

/** Keyed by lower-case address. */
export type WatchedContracts = ReadonlyMap<string, WatchedContract>

export function watchedContracts(network: EvmNetwork): WatchedContracts {
  const roles: ContractRole[] = ['erc20Loans', 'erc20CollateralLock']
  return new Map(
    roles.flatMap((role): [string, WatchedContract][] => {
      const deployment = network[role]
      if (deployment === undefined) return []
      const key = deployment.address.toLowerCase()
      const topicBits = new Map([...EVENT_LAYOUTS[role].keys()].map((topic) => [topic, bloomBits(topic)]))
      const contract = { ...deployment, role, address: getAddress(key), bits: bloomBits(key), topicBits }
      return [[key, contract]]
    }),
  )
}

/** Returns the loan's id as records and lookups name it. */
export function loanIdOf(contract: WatchedContract, contractLoanId: string): string {
  return contract.idPrefix === null ? contractLoanId : `${contract.idPrefix}-${contractLoanId}`
}
