import { digestReadModel } from '../projections/digest.store.ts'
import { print, withDatabase, type OutputOptions } from './context.ts'
import { countOf } from './count-of.ts'

/** Prints a digest over every row of the read model. Read models with equal digests are equal. */
export async function runDigest(options: OutputOptions): Promise<void> {
  await withDatabase(async ({ db }) => {
    const digest = await digestReadModel(db)
    const { records, loans, channels, foldedPosition } = digest
    const counts = [countOf(records, 'record'), countOf(loans, 'loan'), countOf(channels, 'channel')]
    print(options, digest, `${digest.digest}\n${counts.join(', ')}, log position ${foldedPosition}`)
  })
}
