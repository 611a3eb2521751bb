import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { historyAnswer } from '../../../api/schemas/activity.ts'
import { erc20LoanAnswer } from '../../../api/schemas/loan.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import {
  createNextSchema,
  dropOldSchema,
  lockReadModel,
  switchSchemas,
  unlessRead,
} from '../../../indexer/projections/schemas.store.ts'
import { SEEDED_ID_STEP, seedLoan, seedRecords } from '../../helpers/seed-projection.ts'

const SWITCHES = 25
const READERS = 8
const GROWTH = 10

void t.test(
  'readers are served through every switch to a new read model, and never half of one',
  async (t) => {
    const api = await testApi(t)
    await seedRecords(api.db, GROWTH)
    await seedLoan(api.db, { loanType: 'ERC20FIL', loanId: '2', id: 6, part: erc20Part() })
    let done = false
    const readers = Array.from({ length: READERS }, () => readUntil(api, () => done))
    try {
      for (let round = 2; round <= SWITCHES; round++) await switchTo(api.db, round * GROWTH)
    } finally {
      done = true
    }
    const answers = (await Promise.all(readers)).flat()
    t.ok(answers.length > SWITCHES * 4, `${answers.length} answers`)
    t.strictSame([...new Set(answers.filter((answer) => answer !== 'whole'))], [])
    const last = historyAnswer.parse((await api.app.inject('/api/activity/history')).json())
    t.equal(last.payload[0]?.id, SWITCHES * GROWTH * SEEDED_ID_STEP, 'the last switch is what is read now')
  },
)

void t.test(
  'a switch that wants what a writer has, which waits for it, gives way and is tried again',
  async (t) => {
    const { db } = await testApi(t)
    await createNextSchema(db)
    let told = (): void => undefined
    const writerHas = new Promise<void>((resolve) => (told = resolve))
    let meet = (): void => undefined
    const switchHas = new Promise<void>((resolve) => (meet = resolve))
    const writer = inTransaction(db, async (trx) => {
      await sql`update projection.fold_state set version = gen_random_uuid(), records = records`.execute(trx)
      told()
      await switchHas
      await sql`select from projection.activity`.execute(trx)
    })
    await writerHas
    const isSwitched = await unlessRead(db, async (trx) => {
      // The one that finds the deadlock ends: this one, at once.
      await sql`set local deadlock_timeout = '10ms'`.execute(trx)
      await sql`lock table projection.activity in access exclusive mode`.execute(trx)
      meet()
      await untilWaiting(db)
      await lockReadModel(trx, 5_000)
    })
    t.equal(isSwitched, false)
    await t.resolves(writer, 'the writer goes on')
    t.ok(await unlessRead(db, switchSchemas), 'and then it is switched')
  },
)

/** Until a session of this database waits for a table. */
async function untilWaiting(db: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql`select from pg_locks l join pg_database d on d.oid = l.database
      where datname = current_database() and not granted`.execute(db)
    if (rows.length > 0) return
    await sleep(10)
  }
}

/** What `replay` does: builds beside, renames in one transaction, drops. A round's history is longer by GROWTH. */
async function switchTo(db: Db, records: number): Promise<void> {
  await createNextSchema(db)
  await sql`insert into projection_next.loans select * from projection.loans`.execute(db)
  await seedRecords(db, records, 'projection_next')
  while (!(await unlessRead(db, switchSchemas)));
  await dropOldSchema(db)
}

async function readUntil({ app }: TestApi, done: () => boolean): Promise<string[]> {
  const answers: string[] = []
  while (!done()) {
    const history = await app.inject('/api/activity/history')
    answers.push(history.statusCode === 200 ? judgeHistory(history.json()) : history.body)
    const loan = await app.inject('/api/loan/ERC20/2')
    answers.push(loan.statusCode === 200 ? judgeLoan(loan.json()) : loan.body)
    const status = await app.inject('/api/status')
    answers.push(status.statusCode === 200 ? 'whole' : status.body)
  }
  return answers
}

/** Every round ends with a whole number of GROWTH records: anything else is a read model in the making. */
function judgeHistory(body: unknown): string {
  const { payload, pages } = historyAnswer.parse(body)
  const records = (payload[0]?.id ?? 0) / SEEDED_ID_STEP
  const whole = records > 0 && records % GROWTH === 0 && payload.length === Math.min(25, records)
  return whole && pages === Math.ceil(records / 25) ? 'whole' : `history of ${records} in ${pages} pages`
}

function judgeLoan(body: unknown): string {
  const { payload } = erc20LoanAnswer.parse(body)
  return payload.loanEvents[0]?.id === 2 * SEEDED_ID_STEP ? 'whole' : 'a loan without its event'
}

function erc20Part(): Record<string, string | null> {
  const {
    id: _id,
    createdAt: _created,
    updatedAt: _updated,
    ...fields
  } = erc20LoanAnswer.shape.payload.shape.erc20Loan.shape
  return Object.fromEntries(Object.keys(fields).map((name) => [name, name === 'contractLoanId' ? '2' : null]))
}
