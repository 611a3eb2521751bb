import { replay } from '../ingest/replay.ts'
import { digestReadModel } from '../projections/digest.store.ts'
import { createProgress, exclusively, print, withDatabase, type OutputOptions } from './context.ts'
import { countOf } from './count-of.ts'

/** Rebuilds the read model from the log alone. Sets exit code 1 when interrupted. */
export async function runReplay(options: OutputOptions & { restart?: boolean }): Promise<void> {
  await withDatabase(
    ({ db, databaseUrl, signal }) =>
      exclusively({ db, databaseUrl }, 'replay', async () => {
        const startedAtMs = performance.now()
        const progress = createProgress()
        const folded: { foldedPosition: number | null; lastPosition: number | null } = {
          foldedPosition: null,
          lastPosition: null,
        }
        const finished = await replay(db, {
          restart: options.restart ?? false,
          signal,
          onProgress: ({ foldedPosition, lastPosition, index }) => {
            Object.assign(folded, { foldedPosition, lastPosition })
            // While indexes are built, nothing is folded.
            if (index !== undefined) progress.show(`making the index ${index}`, 'new item')
            else
              progress.show(
                `folded ${foldedPosition} of ${countOf(lastPosition, 'log entry', 'log entries')}`,
                {
                  ...{ done: foldedPosition, total: lastPosition },
                },
              )
          },
        })
        progress.end()
        const seconds = (performance.now() - startedAtMs) / 1000
        if (!finished) {
          console.error('interrupted: readers keep the old read model')
          console.error('run `replay` again to go on where it stopped')
          if (options.json === true) console.log(JSON.stringify({ finished, ...folded, seconds }))
          process.exitCode = 1
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
      }),
    { writes: true },
  )
}
