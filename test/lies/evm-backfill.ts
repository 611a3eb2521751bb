import type { Random } from '../../devnet/evm/random.ts'
import { countLoans } from '../../indexer/cli/count-loans.ts'
import { verifyLoanState } from '../../indexer/cli/verify-loan-state.ts'
import type { EvmSource, LoanAnswer } from '../../indexer/sources/evm/evm-source.ts'
import { RetryableError } from '../../shared/errors.ts'
import { isEvmLoanEvent, type ChainEvent, type ContractRole } from '../../shared/events/chain-event.ts'
import type { BlockRef } from '../../shared/events/chain-step.ts'
import { evolveLoan, type Loan } from '../../shared/loans/loans.evolve.ts'
import { BLOCK_LIES, telling } from './block-lies.ts'
import { startLiarOfEvm, type LiarOfEvm } from './evm-chain.ts'
import type { LieGroup, LieKind, Outcome } from './lie-kind.ts'

const LIES = ['a log changed', 'a log left out', 'a receipt told as reverted'] as const
const ROLE_OF: Record<Loan['loanType'], ContractRole> = {
  ERC20FIL: 'erc20Loans',
  FILERC20: 'erc20CollateralLock',
}

/** Ranges of an EVM chain as a backfill reads them, and the comparison of `ops audit --proof` afterwards. */
export const evmBackfill: LieGroup = {
  name: 'evm-backfill',
  about: 'ranges of an EVM chain, as a backfill reads them, and audit --proof afterwards',
  async begin(t, seed) {
    const liar = await startLiarOfEvm(t, seed)
    const { node, places, withSource } = liar
    const state = await provenState(liar)
    const all = await withSource((source) => source.readRange(0, state.block.number))
    if (isNamed(all.events, state)) throw new Error('the truth is not what storage holds')
    const tell = async (name: (typeof LIES)[number], random: Random): Promise<Outcome> => {
      const { target, number } = random.pick(places)
      const lie = BLOCK_LIES[name]
      if (lie === undefined) throw new Error(`no lie ${name}`)
      node.fault = telling(lie(target, random), target.hash)
      try {
        const { events, evidence } = await withSource((source) => source.readRange(number, number + 1))
        const isRead = ({ blockNumber }: ChainEvent): boolean =>
          blockNumber >= number && blockNumber <= number + 1
        if (JSON.stringify(events) === JSON.stringify(all.events.filter(isRead))) return 'harmless'
        // The block behind it may have been read with a stronger proof.
        const ofBlock = evidence.filter(({ from, to }) => from <= number && number <= to)
        if (!ofBlock.every(({ check }) => check === 'one' || check === 'bloom')) return 'accepted'
        const folded = [
          ...all.events.filter(({ blockNumber }) => blockNumber < number),
          ...events,
          ...all.events.filter(({ blockNumber }) => blockNumber > number + 1),
        ]
        return isNamed(folded, state) ? 'found' : 'open'
      } catch (error) {
        if (error instanceof RetryableError) return 'refused'
        throw error
      } finally {
        node.fault = () => null
      }
    }
    return LIES.map((name): LieKind => ({
      name,
      shownBy: 'bloom; proven state, if a later event does not cover it',
      tell: (random) => tell(name, random),
    }))
  },
}

interface ProvenState {
  block: BlockRef
  loans: Map<string, LoanAnswer>
  counters: Map<ContractRole, bigint>
}

const keyOf = (role: ContractRole, contractLoanId: string): string => `${role} ${contractLoanId}`

async function provenState({ withSource }: LiarOfEvm): Promise<ProvenState> {
  return withSource(async (source: EvmSource) => {
    const block = await source.head()
    const counters = await source.proveLoanCounters(block)
    const asked = [...counters].flatMap(([role, count]) =>
      Array.from({ length: Number(count) }, (_, index) => ({ role, contractLoanId: String(index + 1) })),
    )
    const answers = await source.proveLoanStates(asked, block)
    const loans = new Map(
      asked.map(({ role, contractLoanId }, index) => [
        keyOf(role, contractLoanId),
        answers[index] ?? { loan: null, reason: 'no answer' },
      ]),
    )
    return { block, loans, counters }
  })
}

/** Returns whether the comparison with proven state names a loan. */
function isNamed(events: readonly ChainEvent[], { loans, counters }: ProvenState): boolean {
  const folded = new Map<string, { loan: Loan; decimals: number | null }>()
  const known: Record<ContractRole, Set<bigint>> = { erc20Loans: new Set(), erc20CollateralLock: new Set() }
  for (const event of events) {
    if (!isEvmLoanEvent(event)) continue
    const key = keyOf(event.role, event.contractLoanId)
    const said = {
      op: 'append',
      origin: null,
      network: 'evm:31337',
      blockchain: 'TEST',
      subject: null,
    } as const
    const place = { previousSubject: null, position: 1, step: 1, recordedAt: new Date(0) }
    const loan = evolveLoan(folded.get(key)?.loan, { ...said, ...place, event })
    if (loan === undefined) continue
    folded.set(key, { loan, decimals: folded.get(key)?.decimals ?? event.tokenDecimals })
    known[ROLE_OF[loan.loanType]].add(BigInt(event.contractLoanId))
  }
  const { differences, older } = countLoans(known, counters)
  if (differences.length + older.length > 0) return true
  return [...folded].some(([key, { loan, decimals }]) => {
    const answer = loans.get(key)
    if (answer?.loan == null) return true
    return verifyLoanState({ ...loan.part }, answer.loan, decimals, loan.times.openedS !== null).length > 0
  })
}
