import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AppendEntry, HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import { overlapping, type Trx } from '../../shared/db/transaction.ts'
import { getHeldEntriesOf } from '../event-log/read-log.ts'
import { activityProjection } from '../projections/activity/activity.store.ts'
import { getFoldState, putFoldState, type FoldState } from '../projections/fold-state.store.ts'
import { channelsProjection } from '../projections/channels/channels.store.ts'
import { loansProjection } from '../projections/loans/loans.store.ts'
import type { FoldContext, Projection, ProjectionSchema } from '../projections/projection.ts'
import { isAboutChannel, segmentsOf } from '../projections/segments.evolve.ts'

/**
 * All read models, in the order in which they are folded: channels are tied to loans that are up to date, and their records
 * take their places among those of the history. Those of one group are folded side by side: they share no table.
 */
const PROJECTIONS: Projection[][] = [[activityProjection, loansProjection], [channelsProjection]]

/** What is folded at once. */
interface Segment {
  lastPosition: number
  /** Its entries, where the log need not hold them yet. */
  entries: LogEntry[]
  /** Of the groups of projections, in their order. */
  folds: ((context: FoldContext) => Promise<void>)[][]
}

/** As many entries of a step wait for the rest of it, which may be other than appends; of a longer one no more is waited for. */
const MOST_WAITING = 500

/** Whole steps of appends, none about a payment channel and none behind one, gathered as they are read. */
export class GatheredSteps {
  readonly #gathered = PROJECTIONS.map((group) => group.flatMap(({ gather }) => gather?.() ?? []))
  #step: number | undefined
  /** Of the last step. */
  #waiting: AppendEntry[] = []
  #isGatheringStep = false
  #lastOfStep: number | undefined
  #lastPosition: number | undefined

  /** Of the last whole step that was gathered; undefined as long as there is none. */
  get lastPosition(): number | undefined {
    return this.#lastPosition
  }

  /** Whether nothing but whole steps was gathered. Where that is not so nothing of it can be folded in. */
  get areWhole(): boolean {
    return !this.#isGatheringStep
  }

  /** False where the entry is another: its step is not gathered, and nothing more can be. */
  take(entry: LogEntry): boolean {
    if (entry.step !== this.#step) this.endStep()
    this.#step = entry.step
    if (entry.op !== 'append' || isAboutChannel(entry)) return false
    this.#lastOfStep = entry.position
    if (this.#isGatheringStep) this.#gather(entry)
    else if (this.#waiting.push(entry) > MOST_WAITING) {
      this.#gatherWaiting()
      this.#isGatheringStep = true
    }
    return true
  }

  /** There is no more of the last step. */
  endStep(): void {
    this.#gatherWaiting()
    this.#isGatheringStep = false
    this.#lastPosition = this.#lastOfStep
  }

  toSegments(): Segment[] {
    if (!this.areWhole) throw new Error('a step that was gathered in part cannot be folded in')
    if (this.#lastPosition === undefined) return []
    const folds = this.#gathered.map((group) =>
      group.map((segment) => (context: FoldContext) => segment.write(context)),
    )
    return [{ lastPosition: this.#lastPosition, entries: [], folds }]
  }

  #gatherWaiting(): void {
    for (const entry of this.#waiting) this.#gather(entry)
    this.#waiting = []
  }

  #gather(entry: AppendEntry): void {
    for (const group of this.#gathered) for (const segment of group) segment.take(entry)
  }
}

/**
 * Folds whole steps of the log into the read model of `schema`, which must stand at the position `after`: entries
 * left out would make a read model of a log that never was, and are an error. Entries that the log does not hold yet are
 * written by `writeLog`, which is called when the fold has asked for what it is to change: Postgres answers while their rows
 * are made, and the changes are made while it writes them. `reading` is where the read model stands, where that was asked
 * for before.
 */
export async function project(
  trx: Trx,
  schema: ProjectionSchema,
  after: number,
  steps: LogEntry[] | GatheredSteps,
  writeLog: () => Promise<void> = () => Promise.resolve(),
  reading: Promise<FoldState> = getFoldState(trx, schema),
): Promise<void> {
  const state = await reading
  const segments =
    steps instanceof GatheredSteps ? steps.toSegments() : segmentsOf(steps, state.channels > 0).map(toSegment)
  if (segments.length === 0) return
  if (state.foldedPosition !== after) {
    throw new Error(
      `${schema} is folded up to entry ${state.foldedPosition} and not ${after}: run \`ops replay\``,
    )
  }
  if (steps instanceof GatheredSteps && state.channels > 0)
    throw new Error('steps behind a payment channel are not gathered')
  let written: Promise<void> | undefined
  for (const { lastPosition, entries, folds } of segments) {
    // The log holds what comes before the segment: of the segment itself it is told.
    const heldEntriesOf = (subjects: string[]): Promise<HeldEntry[]> =>
      getHeldEntriesOf(trx, subjects, lastPosition, entries)
    const context = { trx, schema, counters: state, heldEntriesOf }
    for (const group of folds) {
      const applied = group.map((fold) => fold(context))
      // What they asked for is on its way when the first of the log's many rows is made.
      written ??= nextTurn().then(writeLog)
      await overlapping([written, ...applied])
    }
    state.foldedPosition = lastPosition
  }
  await putFoldState(trx, schema, state)
}

function toSegment(entries: LogEntry[]): Segment {
  const lastPosition = entries.at(-1)?.position
  if (lastPosition === undefined) throw new Error('a segment has entries')
  const folds = PROJECTIONS.map((group) =>
    group.map((projection) => (context: FoldContext) => projection.apply(context, entries)),
  )
  return { lastPosition, entries, folds }
}
