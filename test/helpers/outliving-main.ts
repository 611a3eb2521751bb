import type { HeapProfiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { sql } from 'kysely'
import { connect } from '../../shared/db/connect.ts'

/**
 * Asks a database (arguments: its URL, how often, rows of an answer, characters of a row) one question after the other, and
 * says over IPC how many bytes of what that made a collection of the young generation did not take away. Holds no answer. Wants
 * `--expose-gc`.
 */
const [url = '', ...numbers] = process.argv.slice(2)
const [times = 0, rowsEach = 0, characters = 0] = numbers.map(Number)
const db = connect(url, { name: 'loan-activity test of what outlives' })
const session = new Session()
session.connect()

async function askAll(): Promise<void> {
  for (let asked = 0; asked < times; asked += 1) {
    const { rows } = await sql<{ text: string }>`
      select repeat('x', ${characters}) || number as text from generate_series(1, ${rowsEach}) as number`.execute(
      db,
    )
    if (rows.length !== rowsEach) throw new Error(`${rows.length} rows instead of ${rowsEach}`)
  }
}

function bytesOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((bytes, child) => bytes + bytesOf(child), selfSize)
}

await askAll()
await session.post('HeapProfiler.startSampling', {
  samplingInterval: 16 * 1024,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: false,
})
await askAll()
// What waits for its first collection would be taken for what outlived one: the profile's own is of the whole heap.
const { gc } = globalThis as { gc?: (options: { type: 'minor' }) => void }
if (gc === undefined) throw new Error('--expose-gc is wanted')
gc({ type: 'minor' })
const { profile } = await session.post('HeapProfiler.stopSampling')
process.send?.(bytesOf(profile.head))
session.disconnect()
await db.destroy()
process.disconnect()
