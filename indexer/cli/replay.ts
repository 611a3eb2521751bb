import { compareReplay, replay, type ReplayOptions } from '../ingest/replay.ts'
import type { PartDifferences } from '../projections/compare-schemas.store.ts'
import { digestReadModel } from '../projections/digest.store.ts'
import {
  createProgress,
  exclusively,
  print,
  withDatabase,
  type CommandContext,
  type OutputOptions,
} from './context.ts'
import { countOf } from './count-of.ts'

/**
 * Rebuilds the read model from the log alone. With `diff` it prints what that would change, and changes nothing; sets exit
 * code 1 when anything would. Sets it when interrupted too.
 */
export async function runReplay(
  options: OutputOptions & { restart?: boolean; diff?: boolean },
): Promise<void> {
  await withDatabase(
    (context) =>
      exclusively(context, 'replay', () =>
        options.diff === true ? compare(context, options) : rebuild(context, options),
      ),
    { writes: true },
  )
}

async function rebuild(
  { db, signal }: CommandContext,
  options: OutputOptions & { restart?: boolean },
): Promise<void> {
  const startedAtMs = performance.now()
  const { watching, folded, end } = watch(signal, options)
  const finished = await replay(db, watching)
  end()
  const seconds = (performance.now() - startedAtMs) / 1000
  if (!finished) {
    reportInterrupted(options, { ...folded, seconds })
    return
  }
  const digest = await digestReadModel(db)
  print(
    options,
    { finished, ...digest, seconds },
    [
      `replayed ${countOf(digest.foldedPosition, 'log entry', 'log entries')} in ${seconds.toFixed(1)} s`,
      `${countOf(digest.records, 'record')}, ${countOf(digest.loans, 'loan')}, ${Math.round(digest.records / seconds)} records/s`,
      `digest ${digest.digest}`,
    ].join('\n'),
  )
}

async function compare(
  { db, signal }: CommandContext,
  options: OutputOptions & { restart?: boolean },
): Promise<void> {
  const { watching, folded, end } = watch(signal, options)
  const comparison = await compareReplay(db, watching)
  end()
  if (comparison === null) {
    reportInterrupted(options, folded)
    return
  }
  const { isSame, parts } = comparison
  const described = parts.some(({ first }) => first.length > 0)
    ? parts.map(describe).join('\n')
    : 'other tables differ'
  print(
    options,
    { finished: true, same: isSame, differences: parts },
    isSame ? 'a replay would change nothing' : described,
  )
  if (!isSame) process.exitCode = 1
}

interface Folded {
  foldedPosition: number | null
  lastPosition: number | null
}

/** Shows the progress of folding until `end`. */
function watch(
  signal: AbortSignal,
  { restart = false }: { restart?: boolean },
): { watching: ReplayOptions; folded: Folded; end: () => void } {
  const progress = createProgress()
  const folded: Folded = { foldedPosition: null, lastPosition: null }
  const onProgress: ReplayOptions['onProgress'] = ({ foldedPosition, lastPosition, index }) => {
    Object.assign(folded, { foldedPosition, lastPosition })
    const entries = countOf(lastPosition, 'log entry', 'log entries')
    // While indexes are built, nothing is folded.
    if (index !== undefined) progress.show(`making the index ${index}`, 'new item')
    else
      progress.show(`folded ${foldedPosition} of ${entries}`, { done: foldedPosition, total: lastPosition })
  }
  return { watching: { restart, signal, onProgress }, folded, end: progress.end }
}

function reportInterrupted(options: OutputOptions, told: object): void {
  console.error('interrupted: readers keep the old read model')
  console.error('run `replay` again to go on where it stopped')
  if (options.json === true) console.log(JSON.stringify({ finished: false, ...told }))
  process.exitCode = 1
}

function describe({ part, added, removed, changed, first }: PartDifferences): string {
  const sum = `${part}s: ${added} would be added, ${removed} removed, ${changed} changed`
  return [sum, ...first.map(({ is, name }) => `  ${is} ${name}`)].join('\n')
}
