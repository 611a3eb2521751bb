import { digestReadModel } from '../projections/digest.store.ts'
import { withDatabase, type OutputOptions } from './context.ts'

/** Prints a digest over every row of the read model. Read models with equal digests are equal. */
export async function runDigest(options: OutputOptions): Promise<void> {
  await withDatabase(async ({ db }) => {
    const digest = await digestReadModel(db)
    if (options.json === true) console.log(JSON.stringify(digest))
    else
      console.log(
        `${digest.digest}  ${digest.records} records, ${digest.loans} loans, ${digest.channels} channels, log position ${digest.foldedPosition}`,
      )
  })
}
