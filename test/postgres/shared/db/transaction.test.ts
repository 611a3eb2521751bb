import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { inTransaction, overlapping, type Trx } from '../../../../shared/db/transaction.ts'
import { testDatabase } from '../../../helpers/database.ts'

void t.test('what overlaps comes to all its values, and is asked in the order of the asking', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table asked (id serial, part text)`.execute(db)
  const ask = (trx: Trx, part: string): Promise<unknown> =>
    sql`insert into asked (part) values (${part})`.execute(trx)
  const values = await inTransaction(db, (trx) =>
    overlapping([
      ask(trx, 'first').then(() => ask(trx, 'after the first')),
      ask(trx, 'second').then(() => 2),
      Promise.resolve('three'),
    ]),
  )
  t.same(values.slice(1), [2, 'three'])
  const { rows } = await sql<{ part: string }>`select part from asked order by id`.execute(db)
  t.same(
    rows.map(({ part }) => part),
    ['first', 'second', 'after the first'],
  )
})

void t.test('one part fails: its error is told, once the others have ended, and nothing stays', async (t) => {
  const { db } = await testDatabase(t)
  await sql`create table asked (id integer primary key)`.execute(db)
  const insert = (trx: Trx, id: number): Promise<unknown> =>
    sql`insert into asked values (${id})`.execute(trx)
  const ended: string[] = []
  const other = async (trx: Trx): Promise<void> => {
    await insert(trx, 1)
    // As long as rows take to be made: meanwhile the other part's statement is refused.
    await sleep(100)
    await t.rejects(insert(trx, 3), { code: '25P02' }, 'it is still of the transaction, which is aborted')
    ended.push('the other part')
    throw new Error('not the first to fail')
  }
  const failed = inTransaction(db, (trx) =>
    overlapping([other(trx), insert(trx, 2).then(() => insert(trx, 2))]),
  )
  await t.rejects(failed, { code: '23505' })
  t.same(ended, ['the other part'])
  const { rows } = await sql`select * from asked`.execute(db)
  t.same(rows, [])
})

void t.test(
  'parts of parts: what failed is told, not that the others were refused because of it',
  async (t) => {
    const { db } = await testDatabase(t)
    await sql`create table asked (id integer primary key)`.execute(db)
    const insert = (trx: Trx, id: number): Promise<unknown> =>
      sql`insert into asked values (${id})`.execute(trx)
    const failed = inTransaction(db, (trx) =>
      overlapping([
        // Has failed with its second statement, and is told only when its other part has ended.
        overlapping([insert(trx, 1).then(() => insert(trx, 1)), sleep(100)]),
        // Refused before that.
        insert(trx, 2).then(() => insert(trx, 3)),
      ]),
    )
    await t.rejects(failed, { code: '23505' })
    await t.rejects(
      inTransaction(db, (trx) =>
        overlapping([insert(trx, 1), insert(trx, 1)]).catch(() =>
          overlapping([insert(trx, 2), insert(trx, 3)]),
        ),
      ),
      { code: '25P02' },
      'where nothing else is known, that',
    )
  },
)
