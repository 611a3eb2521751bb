import type { ContractRole } from '../../shared/events/chain-event.ts'
import type { BlockRef } from '../../shared/events/chain-step.ts'
import { inOneState, type Trx } from '../../shared/db/transaction.ts'
import { findPosition, noteProvenState } from '../event-log/chain-position.ts'
import { getLoansAfter, type ListedLoan } from '../projections/loans/read-loans.store.ts'
import type { WatchedEvmNetwork } from '../watched-networks.ts'
import { auditChannels } from './audit-channels.ts'
import type { AuditDifference } from './audit-difference.ts'
import { createProgress, neverIndexed, withDatabase, withNetworks, type OutputOptions } from './context.ts'
import { countLoans } from './count-loans.ts'
import { countOf } from './count-of.ts'
import { verifyLoanState } from './verify-loan-state.ts'

const CHUNK = 200
const ROLE_OF_TYPE: Record<ListedLoan['loanType'], ContractRole> = {
  ERC20FIL: 'erc20Loans',
  FILERC20: 'erc20CollateralLock',
}

interface AuditOptions extends OutputOptions {
  network?: string
  /** Loans are read from contract storage, proven against the block's header, and each contract's loans are counted. */
  proof?: boolean
}

/**
 * Compares every loan with its contract's `fetchLoan`, and every payment channel with the node's state or its messages.
 * Both are read at the block of the index's position. Prints the differences.
 *
 * Sets exit code 1 when anything differs, when nothing at all was compared, or when interrupted. A network that was
 * never indexed also sets it; the other networks are still compared.
 */
export async function runAudit(options: AuditOptions): Promise<void> {
  await withDatabase(({ db, signal }) =>
    withNetworks(options.network, async (networks) => {
      const differences: AuditDifference[] = []
      const empty: string[] = []
      const nothingOf: string[] = []
      const older: OlderLoans[] = []
      const proven: { network: string; block: BlockRef }[] = []
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
          watched.source.believeRules?.(position.chainRules)
          const isEvm = watched.chain === 'evm'
          const compared = isEvm
            ? await auditLoans(trx, watched, position.block, {
                ...{ signal, proof: options.proof === true, onDifference: tell },
                onInPart: () => (inPart += 1),
                onOlder: (found) => older.push(found),
              })
            : await auditChannels(trx, watched, position.block, signal, tell)
          if (isEvm) loans += compared
          else channels += compared
          const isEqual = [...differences, ...older].every(({ network }) => network !== watched.network)
          if (isEvm && options.proof === true && isEqual && !signal.aborted)
            proven.push({ network: watched.network, block: position.block })
          if (compared > 0 || signal.aborted) return
          nothingOf.push(watched.network)
          if (options.json !== true) console.log(nothingIn(watched))
        })
      }
      for (const { network, block } of proven) await noteProvenState(db, network, block)
      if (options.json === true)
        console.log(
          JSON.stringify({
            ...{ loans, loansInPart: inPart, channels, finished: !signal.aborted, differences },
            ...{ neverIndexed: empty, nothingToCompare: nothingOf, proven, notCovered: older },
          }),
        )
      else {
        for (const { network, role, upTo } of older)
          console.log(
            `${network}: loans 1 to ${upTo} of ${role} are older than startBlock, or were left out: not compared`,
          )
        console.log(sum(loans, inPart, channels, differences.length, signal.aborted))
      }
      const isNothing = loans + channels === 0
      if (differences.length > 0 || empty.length > 0 || isNothing || signal.aborted) process.exitCode = 1
    }),
  )
}

interface OlderLoans {
  network: string
  role: ContractRole
  /** The last of them by the contract's count, from 1. */
  upTo: string
}

interface LoanAudit {
  signal: AbortSignal
  proof: boolean
  onDifference: (difference: AuditDifference) => void
  onInPart: () => void
  /** Hears of loans before the first that the index knows: they are older than startBlock, or were left out. */
  onOlder: (older: OlderLoans) => void
}

async function auditLoans(
  trx: Trx,
  { network, source }: WatchedEvmNetwork,
  block: BlockRef,
  { signal, proof, onDifference, onInPart, onOlder }: LoanAudit,
): Promise<number> {
  const progress = createProgress()
  let audited = 0
  const known: Record<ContractRole, Set<bigint>> = { erc20Loans: new Set(), erc20CollateralLock: new Set() }
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
    const asked = loans.map(({ loanType, part }) => ({
      role: ROLE_OF_TYPE[loanType],
      contractLoanId: part['contractLoanId'] ?? '',
      state: Number(part['state']),
    }))
    const answers = await (proof
      ? source.proveLoanStates(asked, block)
      : source.fetchLoanStates(asked, block))
    loans.forEach(({ loanType, loanId, part, tokenDecimals, isBeginningRead }, index) => {
      const answer = answers[index] ?? { loan: null, reason: 'no answer' }
      if (!isBeginningRead) onInPart()
      known[ROLE_OF_TYPE[loanType]].add(BigInt(part['contractLoanId'] ?? 0))
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
  if (proof && !signal.aborted) {
    const { differences, older } = countLoans(known, await source.proveLoanCounters(block))
    for (const difference of differences) onDifference({ network, ...difference })
    for (const { role, upTo } of older) onOlder({ network, role, upTo: String(upTo) })
  }
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
