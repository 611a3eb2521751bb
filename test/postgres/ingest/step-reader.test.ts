import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { StepReader, type ChunkSize } from '../../../indexer/event-log/step-reader.ts'
import { stepsOf } from '../../../shared/events/entry-steps.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { testDatabase } from '../../helpers/database.ts'
import { cases } from '../../helpers/cases.ts'

const BODY = '"12345678"'
const BODY_BYTES = BODY.length
/** As the reader has it. */
const READ_AT_ONCE = 500
const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Appends steps of so many entries each, every one in a transaction of its own; their places in the log are all they tell. */
async function append(db: Db, sizes: readonly number[]): Promise<void> {
  for (const size of sizes) {
    await inTransaction(db, (trx) =>
      sql`
        with head as (
          update ledger.log_head set last_position = last_position + ${size} returning last_position - ${size}::bigint as before
        )
        insert into ledger.event_log (position, step, network, blockchain, op, natural_key, revision, kind, block_number,
          block_hash, log_index, body, recorded_at)
        select before + n, before + 1, 'evm:1', 'X', 'append', 'key ' || (before + n), 1, 'Payback', before + n, '0x', 0,
          ${BODY}::json, now()
        from head, generate_series(1, ${size}::integer) n`.execute(trx),
    )
  }
}

async function readAll(reader: StepReader, wanted: ChunkSize): Promise<LogEntry[][]> {
  const chunks: LogEntry[][] = []
  for (;;) {
    const chunk = await reader.next(wanted)
    if (chunk.length === 0) return chunks
    chunks.push(chunk)
  }
}

const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 1300 })), {
  maxLength: 6,
})

void t.test('the log is read in whole steps, each once, in chunks of the size that is wanted', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      sizes,
      sizes,
      fc.oneof(fc.integer({ min: 1, max: 1200 }), fc.constant(NO_LIMIT)),
      fc.oneof(fc.integer({ min: 1, max: 13_000 }), fc.constant(NO_LIMIT)),
      async (first, second, entries, bytes) => {
        const { db } = await testDatabase(t)
        await append(db, first)
        const reader = new StepReader(db, 0)
        const before = await readAll(reader, { entries, bytes })
        await append(db, second)
        const after = await readAll(reader, { entries, bytes })
        const problems = [
          ...problemsOf(before, first, 1, { entries, bytes }),
          ...problemsOf(after, second, 1 + sum(first), { entries, bytes }),
        ]
        if (problems.length > 0) throw new Error(problems.join(', '))
      },
    ),
    { numRuns: cases(25) },
  )
  t.pass('25 logs')
})

void t.test('a step that is appended while the log is read comes with the next call, whole', async (t) => {
  const { db } = await testDatabase(t)
  await append(db, [700, 900])
  const reader = new StepReader(db, 0)
  const [chunk] = await Promise.all([reader.next({ entries: NO_LIMIT, bytes: NO_LIMIT }), append(db, [40])])
  t.ok([1600, 1640].includes(chunk.length))
  const rest = await readAll(reader, { entries: 1, bytes: NO_LIMIT })
  t.equal(chunk.length + rest.flat().length, 1640)
})

void t.test('each chunk is measured by itself, with the step that it began with', async (t) => {
  const { db } = await testDatabase(t)
  await append(
    db,
    Array.from({ length: 40 }, () => 100),
  )
  const chunks = await readAll(new StepReader(db, 0), { entries: NO_LIMIT, bytes: 1_000 * BODY_BYTES })
  // Two pages at a time; their last step waits for what may follow, but at the log's end.
  t.same(
    chunks.map(({ length }) => length),
    [900, 1_000, 1_000, 1_100],
  )
})

/** What is wrong with the chunks of steps of so many entries each, the first of which is at position `from`. */
function problemsOf(chunks: LogEntry[][], steps: number[], from: number, wanted: ChunkSize): string[] {
  const problems: string[] = []
  const positions = chunks.flat().map(({ position }) => position)
  if (
    !isSame(
      positions,
      Array.from({ length: sum(steps) }, (_, index) => from + index),
    )
  )
    problems.push('not every entry once, in order')
  const read = chunks.flatMap((chunk) => stepsOf(chunk).map((step) => step.length))
  if (!isSame(read, steps)) problems.push('a step is cut')
  for (const [index, chunk] of chunks.entries()) {
    const ends = endsOf(chunk)
    const following = endsOf(chunks[index + 1] ?? [])[0] ?? 0
    const isEnough = chunk.length >= wanted.entries || (chunk.length + following) * BODY_BYTES >= wanted.bytes
    if (following > 0 && !isEnough) problems.push(`chunk ${index} ends before it is enough`)
    const mostOf = (wantedEntries: number): number => ends.find((end) => end >= wantedEntries) ?? NO_LIMIT
    const most = Math.min(mostOf(wanted.entries), mostOf(Math.ceil(wanted.bytes / BODY_BYTES)))
    if (chunk.length >= most + READ_AT_ONCE) problems.push(`chunk ${index} goes on when it is`)
  }
  return problems
}

void t.test('it goes on after any position that ends a step, and within a transaction', async (t) => {
  const { db } = await testDatabase(t)
  await append(db, [3, 600, 500, 2])
  for (const [after, left] of [
    [0, [603, 502]],
    [3, [600, 502]],
    [603, [502]],
    [1103, [2]],
    [1105, []],
  ] as const) {
    const chunks = await inTransaction(db, (trx) =>
      readAll(new StepReader(trx, after), { entries: 500, bytes: NO_LIMIT }),
    )
    t.same(
      chunks.map((chunk) => chunk.length),
      left,
    )
  }
})

void t.test('who failed to read goes on where it was', async (t) => {
  const { db } = await testDatabase(t)
  await append(db, [400, 500, 800])
  // No entry can be like this: it cannot be read until it is mended.
  const become = (body: string): Promise<unknown> =>
    inTransaction(db, async (trx) => {
      await sql`alter table ledger.event_log disable trigger user`.execute(trx)
      await sql`update ledger.event_log set body = ${body}::json where position = 700`.execute(trx)
      await sql`alter table ledger.event_log enable trigger user`.execute(trx)
    })
  const reader = new StepReader(db, 0)
  await become('null')
  await t.rejects(reader.next({ entries: NO_LIMIT, bytes: NO_LIMIT }), /^log entry 700/)
  await become(BODY)
  const chunks = await readAll(reader, { entries: 1, bytes: NO_LIMIT })
  t.same(
    chunks.flat().map(({ position }) => position),
    Array.from({ length: 1700 }, (_, index) => index + 1),
  )
})

/** How many entries there are up to the end of each step. */
function endsOf(chunk: LogEntry[]): number[] {
  let end = 0
  return stepsOf(chunk).map((step) => (end += step.length))
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index])
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
