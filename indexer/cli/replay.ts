import { replay } from '../ingest/replay.ts'
import { digestReadModel } from '../projections/digest.store.ts'
import { createProgress, exclusively, withDatabase, type OutputOptions } from './context.ts'

/** Builds the read model again from the log alone. Exit code 1 when interrupted. */
export async function runReplay(options: OutputOptions & { restart?: boolean }): Promise<void> {
  await withDatabase(({ db, databaseUrl, signal }) =>
    exclusively(databaseUrl, 'replay', async () => {
      const startedAtMs = performance.now()
      const progress = createProgress()
      const finished = await replay(db, {
        restart: options.restart ?? false,
        signal,
        onProgress: ({ foldedPosition, lastPosition, index }) =>
          progress.show(
            `folded ${foldedPosition} of ${lastPosition} log entries${index === undefined ? '' : `, making index ${index}`}`,
            index !== undefined,
          ),
      })
      progress.end()
      if (!finished) {
        console.error(
          'interrupted: readers keep the old read model; run `replay` again to go on where it stopped',
        )
        process.exitCode = 1
        return
      }
      const seconds = (performance.now() - startedAtMs) / 1000
      const digest = await digestReadModel(db)
      if (options.json === true) console.log(JSON.stringify({ ...digest, seconds }))
      else {
        console.log(
          `replayed ${digest.foldedPosition} log entries into ${digest.records} records and ${digest.loans} loans in ${seconds.toFixed(1)} s (${Math.round(digest.records / seconds)} records/s)\ndigest ${digest.digest}`,
        )
      }
    }),
  )
}
