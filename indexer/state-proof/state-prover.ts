import { unlessAborted } from '../../shared/async/abort.ts'
import { pause } from '../../shared/async/pause.ts'
import { messageOf } from '../../shared/errors.ts'
import type { ContractRole } from '../../shared/events/chain-event.ts'
import type { BlockRef } from '../../shared/events/chain-step.ts'
import type { Logger } from '../../shared/log.ts'
import { findPosition, findProvenState, noteProvenFinal } from '../event-log/chain-position.ts'
import { getSubjectsBetween } from '../event-log/loan-changes.store.ts'
import { getLastPosition } from '../event-log/read-log.ts'
import type { Difference } from '../cli/verify-loan-state.ts'
import type { NetworkHealth } from '../network-state.ts'
import { getLoansAfter } from '../projections/loans/read-loans.store.ts'
import { compareLoans, type ComparedLoan, type LoanOfContract } from './compare-loans.ts'
import { correctLoan, type CorrectedIndex } from './correct-loan.ts'
import { LoanNumbers } from './loan-numbers.evolve.ts'
import { LoansOfContracts } from './loans-of-contracts.ts'

/** Milliseconds. A loan takes some 4.5 ms of processor time, and 25 take some 6 requests, one after another. */
const PACE = {
  firstMs: 5_000,
  /** Between two rounds. Each proves the loans that changed meanwhile. */
  roundMs: 60_000,
  /** Between two chunks of loans. */
  chunkMs: 1_500,
  /** Between two steps of the search for a block. */
  stepMs: 200,
  /** All loans are proven again after this multiple of the time that it took: 1 % of the time is spent so. */
  allTimes: 100,
  /** The longest time after which all loans are proven again. */
  allMs: 6 * 3_600_000,
}
export type StatePace = typeof PACE

const CHUNK = 25
/** The endpoints belong to the reader while it is further behind its head. */
const NEAR_BLOCKS = 16
/** When more changed, all loans are proven. */
const MOST_CHANGED = 1_000
/** Loans that the log lacks and that are looked for in one round. */
const MOST_MISSING = 1_000
const MOST_NAMED = 5

export interface StateProofRun extends Omit<CorrectedIndex, 'stepPauseMs'> {
  health: NetworkHealth
  log: Logger
}

/**
 * Proves loans by contract storage at final blocks while the reader of an EVM network keeps up, and corrects the log where
 * they differ. Slow by intent: the endpoints and the processor are the reader's.
 */
export class StateProver {
  readonly #run: StateProofRun
  readonly #pace: StatePace
  /** Loans that differ although a correction was tried, by their subjects. */
  readonly #differing = new Map<string, LoanOfContract>()
  /** Contracts with a loan that is equal. One without any may keep its loans elsewhere in its storage. */
  readonly #knownLayouts = new Set<ContractRole>()
  readonly #loans: LoansOfContracts
  #numbers: ReadonlyMap<ContractRole, LoanNumbers> = new Map()
  /** Loans that changed up to this block are proven; null before the first proof. */
  #provenTo: number | null = null
  /** When all loans are due to be proven; -Infinity makes the next round prove all. */
  #allDueMs = -Infinity
  #failures = 0

  constructor(run: StateProofRun, pace: Partial<StatePace> = {}) {
    this.#run = run
    this.#loans = new LoansOfContracts(run.source)
    this.#pace = { ...PACE, ...pace }
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#run
    await pause(this.#pace.firstMs, signal)
    while (!signal.aborted) {
      await unlessAborted(this.#tryRound(), signal)
      const longer = 2 ** Math.min(this.#failures, 10)
      await pause(Math.min(this.#pace.roundMs * longer, this.#pace.allMs), signal)
    }
    this.#run.health.clear('state')
  }

  async #tryRound(): Promise<void> {
    const { db, network, health, signal, log } = this.#run
    try {
      this.#provenTo ??= await findProvenState(db, network)
      const final = await this.#findFinal()
      if (final === null) return
      await this.#proveChanged(final)
      if (performance.now() >= this.#allDueMs) await this.#proveAll(final)
      this.#failures = 0
    } catch (error) {
      if (signal.aborted) return
      if (this.#failures === 0) log.warn({ network }, `contract state is not proven: ${messageOf(error)}`)
      this.#failures += 1
    }
    if (!signal.aborted) this.#report(health)
  }

  /** The newest final block; null while the reader does not keep up. */
  async #findFinal(): Promise<BlockRef | null> {
    const { db, network, health } = this.#run
    const position = await findPosition(db, network)
    if (position?.block == null || health.head === null) return null
    return health.head.number - position.block.number > NEAR_BLOCKS ? null : position.finalized
  }

  async #proveChanged(final: BlockRef): Promise<void> {
    const { db, network, signal } = this.#run
    const after = this.#provenTo
    if (after === null || final.number <= after) return
    const subjects = await getSubjectsBetween(db, network, after, final.number, MOST_CHANGED)
    if (subjects.length === MOST_CHANGED) {
      this.#allDueMs = -Infinity
      return
    }
    const loans = subjects.flatMap((subject) => this.#loans.ofSubject(subject) ?? [])
    for (const { role, contractLoanId } of loans) this.#numbers.get(role)?.note(BigInt(contractLoanId))
    await this.#proveLoans(loans)
    if (signal.aborted) return
    await this.#findMissing(final, this.#numbers, { retries: false })
    this.#provenTo = final.number
  }

  async #proveAll(final: BlockRef): Promise<void> {
    const { db, network, source, health, signal } = this.#run
    const startMs = performance.now()
    const since = await getLastPosition(db)
    const corrected = health.stateProof?.corrected ?? 0
    const numbers = new Map(source.contracts.map(({ role }) => [role, new LoanNumbers()]))
    await this.#loans.learnOlder(final)
    let areAllRead = true
    for (let afterId = 0; ;) {
      const rows = await getLoansAfter(db, network, afterId, CHUNK)
      const last = rows.at(-1)
      if (last === undefined) break
      afterId = last.id
      const loans = rows.flatMap(
        ({ loanType, loanId }) => this.#loans.ofSubject(`${loanType}/${loanId}`) ?? [],
      )
      for (const { role, contractLoanId } of loans) numbers.get(role)?.note(BigInt(contractLoanId))
      const compared = await this.#proveChunk(loans, { retries: true })
      if (signal.aborted) return
      areAllRead &&= compared.every(({ isRead }) => isRead)
    }
    // The pages came after `final`, so they had every loan that it has.
    const areAllCovered = await this.#findMissing(final, numbers, { retries: true })
    // An invented loan that was retracted is in no page and not missing.
    await this.#proveLoans([...this.#differing.values()].map((loan) => this.#loans.asKnown(loan)))
    if (signal.aborted) return
    this.#numbers = numbers
    this.#provenTo = Math.max(this.#provenTo ?? -1, final.number)
    // A correction changed what was proven before it: all loans are proven once more.
    const isUnchanged = health.stateProof?.corrected === corrected
    const nowMs = performance.now()
    const pauseMs = Math.min(this.#pace.allTimes * (nowMs - startMs), this.#pace.allMs)
    this.#allDueMs = isUnchanged ? nowMs + pauseMs : -Infinity
    if (isUnchanged && areAllRead && areAllCovered && this.#differing.size === 0)
      await noteProvenFinal(db, network, final.number, since)
  }

  /** Corrects only what did not differ before. */
  async #proveLoans(loans: readonly LoanOfContract[]): Promise<void> {
    for (let from = 0; from < loans.length && !this.#run.signal.aborted; from += CHUNK)
      await this.#proveChunk(loans.slice(from, from + CHUNK), { retries: false })
  }

  /** Each chunk is proven at the newest final block: an endpoint may soon lack the state of an older one. */
  async #proveChunk(loans: LoanOfContract[], { retries }: { retries: boolean }): Promise<ComparedLoan[]> {
    const { signal, health } = this.#run
    await pause(this.#pace.chunkMs, signal)
    let final = await this.#findFinal()
    while (final === null && !signal.aborted) {
      await pause(this.#pace.chunkMs, signal)
      final = await this.#findFinal()
    }
    if (final === null) return []
    const compared = await compareLoans(this.#run, loans, final)
    for (const { loan, differences, isRead, isKept } of compared) {
      if (signal.aborted) return compared
      const [difference] = differences
      if (difference !== undefined) {
        if (retries || !this.#differing.has(loan.subject)) await this.#correct(loan, final, difference)
      } else if (isRead) {
        this.#differing.delete(loan.subject)
        if (!isKept) continue
        this.#knownLayouts.add(loan.role)
        if (health.stateProof !== null) health.stateProof.proven += 1
      }
    }
    return compared
  }

  /**
   * Compares the loans that the log has with the contracts' counters. Returns whether no loan is older than the log and
   * all that are missing were compared.
   */
  async #findMissing(
    final: BlockRef,
    numbers: ReadonlyMap<ContractRole, LoanNumbers>,
    { retries }: { retries: boolean },
  ): Promise<boolean> {
    const { source, signal } = this.#run
    let areAllCovered = true
    for (const [role, count] of await source.proveLoanCounters(final)) {
      const known = numbers.get(role)
      if (known === undefined) continue
      const older = this.#loans.older(role)
      const missing = known.missing(count, older, MOST_MISSING)
      if (known.olderThanLog(count, older) > 0n || missing.length === MOST_MISSING) areAllCovered = false
      // Missing numbers are above the older loans, or above a loan that the log has.
      const loans = missing
        .flatMap((number) => this.#loans.ofNumber(role, number) ?? [])
        .map((loan) => ({ ...loan, beganInLog: true }))
        .filter(({ subject }) => retries || !this.#differing.has(subject))
      for (let from = 0; from < loans.length; from += CHUNK) {
        const compared = await this.#proveChunk(loans.slice(from, from + CHUNK), { retries })
        if (signal.aborted) return false
        // A number that the contract counts and keeps nothing of is not asked for in each round.
        for (const { loan } of compared)
          if (!this.#differing.has(loan.subject)) known.note(BigInt(loan.contractLoanId))
        // A contract that keeps none of them may keep its loans elsewhere.
        if (this.#knownLayouts.has(role) || compared.some(({ isKept }) => isKept)) continue
        areAllCovered = false
        break
      }
    }
    return areAllCovered
  }

  async #correct(loan: LoanOfContract, final: BlockRef, difference: Difference): Promise<void> {
    const { network, log, health } = this.#run
    const { subject } = loan
    log.warn(
      { network },
      `loan ${subject} differs from its contract at block ${final.number}: ${textOf(difference)}`,
    )
    this.#differing.set(subject, loan)
    this.#report(health)
    const index = { ...this.#run, stepPauseMs: this.#pace.stepMs }
    const { blocks, reason } = await correctLoan(index, loan, final).catch((error: unknown) => ({
      blocks: 0,
      reason: messageOf(error),
    }))
    if (this.#run.signal.aborted) return
    if (reason !== null) {
      log.warn({ network }, `loan ${subject} is not corrected: ${reason}`)
      return
    }
    log.info({ network }, `loan ${subject} is corrected: its blocks were read again`)
    this.#differing.delete(subject)
    if (health.stateProof !== null && blocks > 0) health.stateProof.corrected += 1
  }

  #report(health: NetworkHealth): void {
    if (health.stateProof !== null) health.stateProof.differing = this.#differing.size
    const subjects = [...this.#differing.values()].flatMap(({ subject, role }) =>
      this.#knownLayouts.has(role) ? [subject] : [],
    )
    if (subjects.length === 0) return health.clear('state')
    const named = subjects.slice(0, MOST_NAMED).join(', ')
    const more = subjects.length > MOST_NAMED ? ` and ${subjects.length - MOST_NAMED} more` : ''
    health.fail('state', 'other', `loans differ from the state of their contracts: ${named}${more}`)
  }
}

function textOf({ field, indexed, onChain }: Difference): string {
  if (field === 'loan' && indexed === null) return 'the contract made it, the index lacks it'
  return `${field} is ${indexed ?? 'null'}, not ${onChain ?? 'null'}`
}
