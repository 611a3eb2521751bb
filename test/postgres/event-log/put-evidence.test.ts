import fc from 'fast-check'
import t from 'tap'
import { putEvidence } from '../../../indexer/event-log/range-evidence.store.ts'
import type { RangeEvidence } from '../../../shared/events/chain-step.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { cases } from '../../helpers/cases.ts'
import { testDatabase } from '../../helpers/database.ts'

const NETWORK = 'evm:1'
/** As many rows as a network keeps. */
const MOST_ROWS = 256

void t.test('each block keeps the evidence of its last reading, however ranges overlap', async (t) => {
  const { db } = await testDatabase(t)
  const range = fc.record({
    from: fc.nat({ max: 40 }),
    length: fc.integer({ min: 1, max: 12 }),
    endpoint: fc.constantFrom('a', 'b'),
    check: fc.constantFrom<RangeEvidence['check']>('receipts', 'bloom', 'one'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(range, { minLength: 1, maxLength: 20 }), async (ranges) => {
      await db.deleteFrom('ledger.ranges_read').execute()
      const truth = new Map<number, string>()
      for (const { from, length, endpoint, check } of ranges) {
        const to = from + length - 1
        await put(db, { from, to, endpoint, check })
        for (let block = from; block <= to; block += 1) truth.set(block, `${endpoint} ${check}`)
      }
      const known = new Map<number, string>()
      for (const row of await rowsOf(db))
        for (let block = row.from_number; block <= row.to_number; block += 1) {
          if (known.has(block)) throw new Error(`block ${block} is in two rows`)
          t.same(row.counts, [row.to_number - row.from_number + 1])
          known.set(block, `${row.endpoints.join()} ${row.checks.join()}`)
        }
      t.same(sorted(known), sorted(truth))
    }),
    { numRuns: cases(100) },
  )
})

void t.test('the oldest ranges are joined beyond 256, and no block or endpoint is lost', async (t) => {
  const { db } = await testDatabase(t)
  const count = MOST_ROWS + 20
  for (let block = 0; block < count; block += 1)
    await put(db, {
      from: block,
      to: block,
      endpoint: String(block),
      check: block === 3 ? 'one' : 'bloom',
    })
  const rows = await rowsOf(db)
  t.equal(rows.length, MOST_ROWS)
  t.same([rows[0]?.from_number, rows.at(-1)?.to_number], [0, count - 1])
  for (const [index, row] of rows.entries())
    if (index > 0) t.equal(row.from_number, (rows[index - 1]?.to_number ?? NaN) + 1)
  t.same(rows[0]?.endpoints.toSorted(), Array.from({ length: 21 }, (_, block) => String(block)).sort())
  t.same(
    [rows[0]?.checks, rows[0]?.counts],
    [
      ['bloom', 'one'],
      [20, 1],
    ],
    'the weakest check stays visible',
  )
  await put(db, { from: 1, to: 1, endpoint: 'again', check: 'receipts' })
  const [first] = await rowsOf(db)
  t.same(first?.checks.toSorted(), ['bloom', 'one', 'receipts'], 'a record of it has the weakest')
  const after = await rowsOf(db)
  t.equal(after.length, MOST_ROWS)
  t.same(blocksByCheck(after), { receipts: 1, bloom: count - 2, one: 1 }, 'the count of no kind grew')
})

async function put(db: Db, range: RangeEvidence): Promise<void> {
  await inTransaction(db, (trx) => putEvidence(trx, NETWORK, [range]))
}

function rowsOf(db: Db) {
  return db.selectFrom('ledger.ranges_read').selectAll().orderBy('from_number').execute()
}

function sorted(blocks: Map<number, string>): [number, string][] {
  return [...blocks].sort(([a], [b]) => a - b)
}

function blocksByCheck(rows: Awaited<ReturnType<typeof rowsOf>>): Record<string, number> {
  const blocks: Record<string, number> = {}
  for (const { checks, counts } of rows)
    checks.forEach((check, index) => (blocks[check] = (blocks[check] ?? 0) + (counts[index] ?? 0)))
  return blocks
}

void t.test('words of jobs of version 0.2 are stored in those of today', async (t) => {
  const { db } = await testDatabase(t)
  await put(db, { from: 0, to: 0, endpoint: 'a', check: 'second-endpoint' })
  await put(db, { from: 1, to: 1, endpoint: 'a', check: 'unchecked' })
  t.same(
    (await rowsOf(db)).map(({ checks }) => checks),
    [['two'], ['one']],
  )
})

void t.test('a gap between old ranges does not keep the others apart', async (t) => {
  const { db } = await testDatabase(t)
  await put(db, { from: 0, to: 0, endpoint: 'a', check: 'one' })
  for (let block = 2; block < 2 + MOST_ROWS + 20; block += 1)
    await put(db, { from: block, to: block, endpoint: String(block), check: 'bloom' })
  const rows = await rowsOf(db)
  t.equal(rows.length, MOST_ROWS)
  t.match(rows[0], { from_number: 0, to_number: 0, checks: ['one'] })
})
