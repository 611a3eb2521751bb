import { isEvmLoanEvent, LOAN_TYPE_OF_ROLE, type LoanType } from '../../../shared/events/chain-event.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'

/** What a record says, without its id and times. */
export interface ActivityRecord {
  txHash: string
  loanId: string
  kind: RecordKind
}

/** What thousands of records say alike. */
export interface RecordKind {
  event: string
  loanType: LoanType
  blockchain: string
  networkId: string
  contractAddress: string | null
}

/** The record that an entry of the log makes; undefined for what shows in no history. */
export function recordOf(entry: LogEntry): ActivityRecord | undefined {
  const { event } = entry
  if (event === null || !isEvmLoanEvent(event)) return undefined
  const kind = {
    event: event.kind,
    loanType: LOAN_TYPE_OF_ROLE[event.role],
    blockchain: entry.blockchain,
    networkId: networkIdOf(entry.network),
    contractAddress: event.contract,
  }
  return { txHash: event.txHash, loanId: event.loanId, kind }
}

/** A network's key is its ledger's kind, its id and (of a chain's further deployments) an idPrefix, parted by colons. */
export function networkIdOf(network: string): string {
  return network.split(':')[1] ?? ''
}
