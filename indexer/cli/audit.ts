import type { ContractRole } from '../../shared/events/chain-event.ts'
import type { BlockRef } from '../../shared/events/chain-step.ts'
import { inOneState, type Trx } from '../../shared/db/transaction.ts'
import { findPosition } from '../event-log/chain-position.ts'
import { getLoansAfter, type ListedLoan } from '../projections/loans/read-loans.store.ts'
import type { WatchedEvmNetwork } from '../watched-networks.ts'
import { auditChannels } from './audit-channels.ts'
import type { AuditDifference } from './audit-difference.ts'
import { createProgress, neverIndexed, withDatabase, withNetworks, type OutputOptions } from './context.ts'
import { countOf } from './count-of.ts'
import { verifyLoanState } from './verify-loan-state.ts'

const CHUNK = 200
const ROLE_OF_TYPE: Record<ListedLoan['loanType'], ContractRole> = {
  ERC20FIL: 'erc20Loans',
  FILERC20: 'erc20CollateralLock',
}

/**
 * Compares every loan with its contract's `fetchLoan`, and every payment channel with the node's state or its messages.
 * Both are read at the block of the index's position. Prints the differences.
 *
 * Sets exit code 1 when anything differs, when nothing at all was compared, or when interrupted. A network that was
 * never indexed also sets it; the other networks are still compared.
 */
export async function runAudit(options: OutputOptions & { network?: string }): Promise<void> {
  await withDatabase(({ db, signal }) =>
    withNetworks(options.network, async (networks) => {
      const differences: AuditDifference[] = []
      const empty: string[] = []
      const nothingOf: string[] = []
      let loans = 0
      let inPart = 0
      let channels = 0
      const tell = (difference: AuditDifference): void => {
        differences.push(difference)
        if (options.json !== true) console.log(describe(difference))
      }
      for (const watched of networks) {
        // Loans and position come from one snapshot, however long the node takes.
        await inOneState(db, async (trx) => {
          const position = await findPosition(trx, watched.network)
          if (position?.block == null) {
            empty.push(watched.network)
            if (options.json !== true) console.log(neverIndexed(watched.network))
            return
          }
          const isEvm = watched.chain === 'evm'
          const compared = isEvm
            ? await auditLoans(trx, watched, position.block, signal, tell, () => (inPart += 1))
            : await auditChannels(trx, watched, position.block, signal, tell)
          if (isEvm) loans += compared
          else channels += compared
          if (compared > 0 || signal.aborted) return
          nothingOf.push(watched.network)
          if (options.json !== true) console.log(nothingIn(watched))
        })
      }
      if (options.json === true)
        console.log(
          JSON.stringify({
            ...{ loans, loansInPart: inPart, channels, finished: !signal.aborted, differences },
            ...{ neverIndexed: empty, nothingToCompare: nothingOf },
          }),
        )
      else console.log(sum(loans, inPart, channels, differences.length, signal.aborted))
      const isNothing = loans + channels === 0
      if (differences.length > 0 || empty.length > 0 || isNothing || signal.aborted) process.exitCode = 1
    }),
  )
}

async function auditLoans(
  trx: Trx,
  { network, source }: WatchedEvmNetwork,
  block: BlockRef,
  signal: AbortSignal,
  onDifference: (difference: AuditDifference) => void,
  onInPart: () => void,
): Promise<number> {
  const progress = createProgress()
  let audited = 0
  const show = (): void =>
    progress.show(`${network}: ${countOf(audited, 'loan')} compared at block ${block.number}`, {
      ...{ done: audited, total: null },
    })
  show()
  for (let afterId = 0; !signal.aborted;) {
    const loans = await getLoansAfter(trx, network, afterId, CHUNK)
    const last = loans.at(-1)
    if (last === undefined) break
    afterId = last.id
    const answers = await source.fetchLoanStates(
      loans.map(({ loanType, part }) => ({
        role: ROLE_OF_TYPE[loanType],
        contractLoanId: part['contractLoanId'] ?? '',
        state: Number(part['state']),
      })),
      block,
    )
    loans.forEach(({ loanType, loanId, part, tokenDecimals, isBeginningRead }, index) => {
      const answer = answers[index] ?? { loan: null, reason: 'no answer' }
      if (!isBeginningRead) onInPart()
      const found =
        answer.loan === null
          ? [{ field: 'fetchLoan', indexed: part['state'] ?? null, onChain: answer.reason }]
          : verifyLoanState(part, answer.loan, tokenDecimals, isBeginningRead)
      for (const difference of found)
        onDifference({ network, subject: `${loanType} loan ${loanId}`, ...difference })
    })
    audited += loans.length
    show()
  }
  progress.end()
  return audited
}

function nothingIn({ network, chain }: { network: string; chain: 'evm' | 'filecoin' }): string {
  return `${network}: the index holds no ${chain === 'evm' ? 'loan' : 'payment channel'} of it`
}

/** "No differences" would look like proof when nothing was compared. */
function sum(
  loans: number,
  inPart: number,
  channels: number,
  differences: number,
  isInterrupted: boolean,
): string {
  const interrupted = isInterrupted ? ' (interrupted)' : ''
  if (loans + channels === 0) return `nothing was compared${interrupted}`
  const partly =
    inPart === 0
      ? ''
      : ` (${countOf(inPart, 'loan')} only in part: ${inPart === 1 ? 'it' : 'they'} began before startBlock)`
  const compared = `${countOf(loans, 'loan')} and ${countOf(channels, 'channel')} compared`
  return `${compared}${partly}, ${countOf(differences, 'difference')}${interrupted}`
}

function describe({ network, subject, field, indexed, onChain }: AuditDifference): string {
  return `${network} ${subject}: ${field} is ${indexed ?? 'null'} in the index, ${onChain ?? 'null'} on the chain`
}
