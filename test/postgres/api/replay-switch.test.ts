import { sql } from 'kysely'
import t from 'tap'
import { historyAnswer } from '../../../api/schemas/activity.ts'
import { erc20LoanAnswer } from '../../../api/schemas/loan.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import {
  createNextSchema,
  dropOldSchema,
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
