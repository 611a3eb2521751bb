import { sql } from 'kysely'
import t from 'tap'
import type * as z from 'zod'
import { LOOKUPS } from '../../../api/queries/loans.ts'
import { erc20LoanAnswer, filLoanAnswer } from '../../../api/schemas/loan.ts'
import { testApi } from '../../helpers/api.ts'
import { SEEDED_ID_STEP, seedLoan, seedRecords } from '../../helpers/seed-projection.ts'

/** A part as the indexer stores it: the protocol's fields but the three that the lookup adds. */
function partOf(answer: z.ZodObject): Record<string, string | null> {
  const fields = Object.keys(answer.shape).filter((name) => !['id', 'createdAt', 'updatedAt'].includes(name))
  return Object.fromEntries(fields.map((name, index) => [name, index % 4 === 3 ? null : `the "${name}"`]))
}

const times = { createdAt: '2030-01-01T00:00:00.007Z', updatedAt: '2030-01-02T00:00:00.000Z' }

void t.test('an ERC20 loan: the contract part, no Filecoin part, its events oldest first', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 5000)
  const part = partOf(erc20LoanAnswer.shape.payload.shape.erc20Loan)
  await seedLoan(db, { loanType: 'ERC20FIL', loanId: '2', id: 77, part })
  const response = await app.inject('/api/loan/ERC20/2')
  t.equal(response.statusCode, 200)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  const { payload } = erc20LoanAnswer.parse(response.json())
  t.equal(JSON.stringify(payload.erc20Loan), JSON.stringify({ id: '77', ...part, ...times }), 'in this order')
  t.strictSame(Object.keys(payload), ['erc20Loan', 'filCollateral', 'loanEvents'])
  t.strictSame(
    payload.loanEvents.map(({ id }) => id),
    [2, 1002, 2002, 3002, 4002].map((nth) => nth * SEEDED_ID_STEP),
  )
  t.ok(payload.loanEvents.every(({ loanId, loanType }) => loanId === '2' && loanType === 'ERC20FIL'))
})

void t.test('a FIL loan: the same number in the other market is another loan', async (t) => {
  const { app, db } = await testApi(t)
  const part = partOf(filLoanAnswer.shape.payload.shape.collateralLock)
  await seedLoan(db, { loanType: 'FILERC20', loanId: '2', id: 9, part })
  const response = await app.inject('/api/loan/FIL/2')
  const answer = filLoanAnswer.parse(response.json())
  t.equal(
    response.body,
    JSON.stringify({
      status: 'OK',
      payload: {
        collateralLock: { id: '9', ...part, ...times },
        filLoan: {},
        filPayback: {},
        loanEvents: answer.payload.loanEvents,
      },
    }),
  )
  t.equal((await app.inject('/api/loan/ERC20/2')).statusCode, 404)
})

void t.test('an id with a prefix, and ids as long as a uint256', async (t) => {
  const { app, db } = await testApi(t)
  const part = partOf(erc20LoanAnswer.shape.payload.shape.erc20Loan)
  for (const loanId of ['goerli-7', '9'.repeat(78)]) {
    await seedLoan(db, { loanType: 'ERC20FIL', loanId, id: loanId.length, part })
    const response = await app.inject(`/api/loan/ERC20/${loanId}`)
    t.equal(erc20LoanAnswer.parse(response.json()).payload.erc20Loan.id, `${loanId.length}`)
  }
})

void t.test('an unknown loan is 404, what cannot be a loan id is 400', async (t) => {
  const { app } = await testApi(t)
  for (const route of ['ERC20', 'FIL']) {
    for (const id of ['1', '0', 'other-1', '9'.repeat(78)]) {
      const response = await app.inject(`/api/loan/${route}/${id}`)
      t.equal(response.statusCode, 404, id)
      t.equal(response.json<{ status: string }>().status, 'ERROR')
    }
    for (const id of ['abc', '-1', '1.5', '1-1', 'a-', "1'", '%00', '9'.repeat(79), '0x1']) {
      t.equal((await app.inject(`/api/loan/${route}/${id}`)).statusCode, 400, id)
    }
    t.equal((await app.inject(`/api/loan/${route}/`)).statusCode, 400)
    for (const id of ['9'.repeat(79), '9'.repeat(92), `goerli-${'9'.repeat(79)}`, '9'.repeat(8_000)]) {
      const { message } = (await app.inject(`/api/loan/${route}/${id}`)).json<{ message: string }>()
      t.equal(message, 'loanId is too long: its number has at most 78 digits')
    }
    const { message } = (await app.inject(`/api/loan/${route}/x`)).json<{ message: string }>()
    t.match(message, /^loanId must be a decimal number/)
  }
  t.equal((await app.inject('/api/loan/erc20/1')).statusCode, 404, 'the market is written as it is')
})

void t.test('a loan among many is found by its index', async (t) => {
  const { db } = await testApi(t)
  await seedRecords(db, 50_000)
  await sql`insert into projection.loans (loan_type, loan_id, id, network, evm_part, last_block, last_log_index,
      created_at, updated_at)
    select 'ERC20FIL', n::text, n, 'evm:31337', '{}', 1, 0, now(), now() from generate_series(1, 20000) n`.execute(
    db,
  )
  await sql`analyze projection.activity, projection.loans`.execute(db)
  await db.connection().execute(async (session) => {
    await sql.raw(`prepare loan (text) as ${LOOKUPS.ERC20FIL.text}`).execute(session)
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await sql.raw(`set plan_cache_mode = ${mode}`).execute(session)
      const { rows } = await sql.raw<{ 'QUERY PLAN': string }>(`explain execute loan('700')`).execute(session)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      // The version's table has one row, that of the kinds two.
      t.notMatch(plan, /Seq Scan on (?!fold_state |record_kinds )/, plan)
      t.match(plan, /activity_loan/)
    }
  })
})
