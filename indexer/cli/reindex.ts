import { pause } from '../../shared/async/pause.ts'
import type { Db } from '../../shared/db/connect.ts'
import { ConfigError } from '../../shared/errors.ts'
import type { BlockRef } from '../../shared/events/chain-step.ts'
import type { NewEntry } from '../../shared/events/log-entry.ts'
import { adoptWatched } from '../event-log/chain-position.ts'
import { findProgress, forgetOtherProgress, forgetProgress } from '../event-log/operations.ts'
import { channelsMadeBy, type KnownChannel } from '../ingest/channel-messages.evolve.ts'
import { compareReading, ingestReading, type Corrections } from '../ingest/ingest-reading.ts'
import { readAgain } from '../read-again.ts'
import { sameJson, type WatchedNetwork } from '../watched-networks.ts'
import { findWritten, type WrittenPosition } from '../written-position.ts'
import {
  createProgress,
  exclusively,
  neverIndexed,
  withDatabase,
  withNetworks,
  type CommandContext,
  type OutputOptions,
} from './context.ts'
import { countOf } from './count-of.ts'

export interface SpanOptions extends OutputOptions {
  network: string
  from?: number
  to?: number
}

const ATTEMPTS = 20

/**
 * Reads a network again from a block and appends corrections: missing entries, and retractions of entries that are not
 * on the chain. Untouched records keep their ids. The indexer may run meanwhile. Sets exit code 1 when interrupted; the
 * next call continues there.
 */
export async function runReindex(options: SpanOptions & { restart?: boolean }): Promise<void> {
  await withDatabase(
    (context) =>
      withNetworks(options.network, async ([watched]) => {
        if (watched === undefined) return
        await exclusively(context, `reindex of ${watched.network}`, () => reindex(context, watched, options))
      }),
    { writes: true },
  )
}

async function reindex(
  { db, signal }: CommandContext,
  watched: WatchedNetwork,
  options: SpanOptions & { restart?: boolean },
): Promise<void> {
  let position = await writtenPosition(db, watched)
  watched.source.believeRules?.(position.chainRules)
  const adopts = !sameJson(position.watched, watched.watched)
  const lowest = Math.min(position.startNumber, watched.source.startBlock)
  const first = options.from ?? lowest
  if (adopts && (first > lowest || options.to !== undefined)) refuseMixture(watched, lowest)
  refuseEmpty(position, watched, { from: first, to: options.to })
  const contracts = JSON.stringify(watched.watched)
  const operation = `reindex ${watched.network} ${first} ${options.to ?? 'all'} ${contracts}`
  await forgetOtherProgress(db, `reindex ${watched.network} `, contracts)
  const resumed = options.restart === true ? undefined : await findProgress(db, operation)
  if (resumed !== undefined) console.error(`going on with block ${resumed}`)
  const total: Corrections = { appended: 0, replaced: 0, retracted: 0 }
  const progress = createProgress()
  let next = resumed ?? first
  let last: BlockRef | undefined
  let to = lastBlock(position, options)
  // A writer with the old contracts may have replaced blocks that were not final when they were read.
  const replaceable = (): number => Math.max(first, Math.min(next, (position.final?.number ?? -1) + 1, to))
  if (adopts) next = replaceable()
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const span = { from: next, to, final: position.final }
    for await (const reading of readAgain(watched.source, span, signal)) {
      const corrections = await ingestReading(db, watched, operation, reading)
      if (corrections === undefined) break
      add(total, corrections)
      last = reading.last
      next = last.number + 1
      attempt = 1
      progress.show(`block ${last.number} of ${to}: ${describe(total)}`, { done: last.number, total: to })
    }
    if (next > to) {
      if (!adopts) break
      const start = { startNumber: watched.source.startBlock, watched: watched.watched }
      if (last !== undefined && (await adoptWatched(db, watched.network, last, start))) break
    } else if (attempt > ATTEMPTS) {
      throw new Error(`block ${next} is on another branch than the index: is the indexer following?`)
    } else await pause(500, signal)
    // The index has moved on, or changed its branch.
    position = await writtenPosition(db, watched)
    to = lastBlock(position, options)
    if (adopts) next = replaceable()
  }
  progress.end()
  const finished = next > to
  if (finished) await forgetProgress(db, operation)
  else process.exitCode = 1
  const read = { network: watched.network, from: first, to: lastRead(first, next), finished, ...total }
  report(options, read, 'run it again to go on')
}

/** Reading only a part with other contracts would leave an index that fits neither configuration. */
function refuseMixture({ network }: WatchedNetwork, lowest: number): never {
  throw new ConfigError(
    `${network} was indexed with other contracts than the configuration names: only all of it can be read again with these, ` +
      `without --to, and without --from or from block ${lowest} at most`,
  )
}

/** Returns the position of a network's index. Throws when nothing was ever read. */
async function writtenPosition(db: Db, { network }: WatchedNetwork): Promise<WrittenPosition> {
  const position = await findWritten(db, network)
  if (position === undefined) throw new Error(neverIndexed(network))
  return position
}

function lastBlock(position: { block: BlockRef }, { to }: { to?: number | undefined }): number {
  return Math.min(to ?? position.block.number, position.block.number)
}

/** An empty range would report that nothing differs. */
function refuseEmpty(
  position: WrittenPosition,
  { network }: WatchedNetwork,
  { from, to }: { from: number; to: number | undefined },
): void {
  const last = position.block.number
  if (from <= lastBlock(position, { to })) return
  throw new ConfigError(
    `there is nothing to read in the blocks ${from} to ${to ?? last}: ${network} is indexed from ${position.startNumber} to ${last}`,
  )
}

/**
 * Reads a range again and compares it with the log, entry by entry. Blocks of an EVM chain that may have our logs are read
 * with their receipts, which must have the root in the block's header. Sets exit code 1 when anything differs or when
 * interrupted. Progress is not kept.
 */
export async function runVerify(options: SpanOptions): Promise<void> {
  await withDatabase(({ db, signal }) =>
    withNetworks(options.network, async ([watched]) => {
      if (watched === undefined) return
      const position = await writtenPosition(db, watched)
      const from = options.from ?? watched.source.startBlock
      refuseEmpty(position, watched, { from, to: options.to })
      const to = lastBlock(position, options)
      const total: Corrections = { appended: 0, replaced: 0, retracted: 0 }
      const progress = createProgress()
      const made: KnownChannel[] = []
      const differences: SpanDifference[] = []
      let unread = 0
      let next = from
      const isProven = watched.chain === 'evm'
      watched.source.believeRules?.(position.chainRules)
      const span = { from, to, final: position.final, isProven }
      for await (const reading of readAgain(watched.source, span, signal)) {
        const compared = await compareReading(db, watched, reading, made)
        unread += compared.unread
        for (const { op, blockNumber, naturalKey } of compared.differences) {
          add(total, correctionOf(op))
          if (options.json === true) differences.push({ op, blockNumber, naturalKey })
          else console.log(`${DIFFERENCE[op]} block ${blockNumber} ${naturalKey}`)
        }
        made.push(...channelsMadeBy(reading.events))
        next = reading.last.number + 1
        progress.show(`block ${reading.last.number} of ${to}: ${describe(total)}`, {
          ...{ done: reading.last.number, total: to },
        })
        if (signal.aborted) break
      }
      progress.end()
      const finished = next > to
      if (!finished || total.appended + total.replaced + total.retracted > 0) process.exitCode = 1
      const read = { network: watched.network, from, to: lastRead(from, next), finished, ...total }
      report(
        options,
        { ...read, unread, differences },
        `blocks ${next} to ${to} are not compared, and another verify begins anew`,
      )
    }),
  )
}

/** The correction that a reindex would make to one entry of the log. */
type SpanDifference = Pick<NewEntry, 'op' | 'blockNumber' | 'naturalKey'>

const DIFFERENCE = {
  append: 'missing in the log:',
  replace: 'different on the chain:',
  retract: 'not on the chain:',
} as const

function correctionOf(op: NewEntry['op']): Corrections {
  return {
    appended: Number(op === 'append'),
    replaced: Number(op === 'replace'),
    retracted: Number(op === 'retract'),
  }
}

function add(total: Corrections, more: Corrections): void {
  total.appended += more.appended
  total.replaced += more.replaced
  total.retracted += more.retracted
}

function describe({ appended, replaced, retracted }: Corrections): string {
  return `${appended} missing, ${replaced} different, ${retracted} foreign`
}

interface SpanResult extends Corrections {
  network: string
  from: number
  /** Null when interrupted before any block was read. */
  to: number | null
  finished: boolean
  /** Entries whose terms were not compared, because no node has the state any more. */
  unread?: number
  differences?: SpanDifference[]
}

function lastRead(from: number, next: number): number | null {
  return next > from ? next - 1 : null
}

/** `whenInterrupted` tells the operator how to continue after an interruption. */
function report(options: OutputOptions, result: SpanResult, whenInterrupted: string): void {
  if (options.json === true) console.log(JSON.stringify(result))
  else {
    const blocks = result.to === null ? 'no block' : `blocks ${result.from} to ${result.to}`
    console.log(`${result.network} ${blocks}: ${describe(result)}`)
    if (!result.finished) console.log(`interrupted: ${whenInterrupted}`)
    if (result.unread !== undefined && result.unread > 0)
      console.log(
        `terms of ${countOf(result.unread, 'entry', 'entries')} not compared: no node has their state any more`,
      )
  }
}
