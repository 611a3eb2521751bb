import { isEvmLoanEvent, LOAN_TYPE_OF_ROLE, type LoanType } from '../../../shared/events/chain-event.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'

/** What a record says, without its id and times. */
export interface ActivityRecord {
  txHash: string
  event: string
  loanId: string
  blockchain: string
  networkId: string
  contractAddress: string | null
  loanType: LoanType
}

/** The record that an entry of the log makes; undefined for what shows in no history. */
export function recordOf(entry: LogEntry): ActivityRecord | undefined {
  const { event } = entry
  if (event === null || !isEvmLoanEvent(event)) return undefined
  return {
    txHash: event.txHash,
    event: event.kind,
    loanId: event.loanId,
    blockchain: entry.blockchain,
    networkId: networkIdOf(entry.network),
    contractAddress: event.contract,
    loanType: LOAN_TYPE_OF_ROLE[event.role],
  }
}

/** A network's key is its ledger's kind, a colon and its id. */
export function networkIdOf(network: string): string {
  return network.slice(network.indexOf(':') + 1)
}
