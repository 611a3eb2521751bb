import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { historyPages } from '../../../api/queries/activity-pages.ts'
import { openReadDatabase } from '../../../api/queries/read-database.ts'
import {
  deleteRecords,
  insertRecords,
  type NewRecord,
} from '../../../indexer/projections/activity/activity-rows.store.ts'
import { getFoldState, putFoldState } from '../../../indexer/projections/fold-state.store.ts'
import { IDS_PER_ENTRY, LIVE_SCHEMA, type FoldContext } from '../../../indexer/projections/projection.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import * as z from 'zod'
import { miscounts } from '../../helpers/counted-history.ts'
import { testDatabase } from '../../helpers/database.ts'
import { cases } from '../../helpers/cases.ts'

function recordAt(position: number, number: number): NewRecord {
  return {
    id: position * IDS_PER_ENTRY + number,
    ...{ txHash: '0x01', loanId: '1', ofChannel: null, at: new Date(0) },
    kind: {
      ...{ event: 'CreateLoanOffer', loanType: 'ERC20FIL' },
      ...{ blockchain: 'DEVNET', networkId: '31337', contractAddress: null },
    },
  }
}

/** Up to where the next batch lies, mostly near, sometimes beyond the stretches of each level. */
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 2, arbitrary: fc.integer({ min: 512, max: 512 ** 2 }) },
  { weight: 1, arbitrary: fc.integer({ min: 512 ** 2, max: 512 ** 3 * 2 }) },
)
const act = fc.oneof(
  fc.record({ gaps: fc.array(gap, { minLength: 1, maxLength: 12 }), each: fc.integer({ min: 1, max: 40 }) }),
  fc.record({
    remove: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
      minLength: 1,
      maxLength: 60,
    }),
  }),
  // A whole run of neighbours, so that stretches become empty.
  fc.record({
    from: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
)

void t.test('whatever comes and goes, records are found by their number', async (t) => {
  const { db, url } = await testDatabase(t)
  const reading = openReadDatabase(url, { onError: (error) => t.fail(error.message) })
  t.teardown(() => reading.close())
  const fold = (change: (context: FoldContext) => Promise<void>): Promise<void> =>
    inTransaction(db, async (trx) => {
      const counters = await getFoldState(trx, LIVE_SCHEMA)
      await change({
        trx,
        schema: LIVE_SCHEMA,
        counters,
        position: 1,
        heldEntriesOf: () => Promise.resolve([]),
      })
      await putFoldState(trx, LIVE_SCHEMA, counters)
    })
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async (acts) => {
      await sql`truncate projection.activity, projection.activity_past, projection.activity_counts`.execute(
        db,
      )
      await sql`update projection.fold_state set version = gen_random_uuid(), records = 0`.execute(db)
      let held: NewRecord[] = []
      let position = 0
      for (const one of acts) {
        if ('gaps' in one) {
          const added = one.gaps.flatMap((entries) => {
            position += entries
            return Array.from({ length: one.each }, (_, number) => recordAt(position, number))
          })
          await fold((context) => insertRecords(context, added))
          held.push(...added)
        } else {
          const gone = new Set(
            'remove' in one
              ? one.remove.map((share) => held[Math.floor(share * held.length)])
              : held.slice(
                  Math.floor(one.from * held.length),
                  Math.floor((one.from + one.share) * held.length),
                ),
          )
          await fold((context) =>
            deleteRecords(
              context,
              [...gone].flatMap((record) => record?.id ?? []),
            ),
          )
          held = held.filter((record) => !gone.has(record))
        }
        t.same(await miscounts(db), [])
      }
      const ids: number[] = []
      const pages = Math.ceil(held.length / 25)
      const getPage = historyPages(reading)
      for (let page = 1; page <= pages + 1; page += 1) {
        const { answer: json } = await getPage(BigInt(page))
        const answer = pageSchema.parse(JSON.parse(json))
        t.equal(answer.pages, pages)
        ids.push(...answer.payload.map(({ id }) => id))
      }
      t.same(ids, held.map(({ id }) => id).reverse())
    }),
    { numRuns: cases(40) },
  )
})

const pageSchema = z.object({ payload: z.array(z.object({ id: z.number() })), pages: z.number() })
