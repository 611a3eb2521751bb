import { isEvmLoanEvent, LOAN_TYPE_OF_ROLE, type LoanType } from '../../../shared/events/chain-event.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { networkIdOf } from '../../../shared/events/natural-key.ts'

/** A record without its id and times. */
export interface ActivityRecord {
  txHash: string
  loanId: string
  kind: RecordKind
}

/** The values that thousands of records share. */
export interface RecordKind {
  event: string
  loanType: LoanType
  blockchain: string
  networkId: string
  contractAddress: string | null
}

/** The record of a log entry; undefined if the entry does not appear in the history. */
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
