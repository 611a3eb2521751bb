import { sql } from 'kysely'
import t from 'tap'
import type * as z from 'zod'
import { LOOKUPS } from '../../../api/queries/loans.ts'
import { erc20LoanAnswer, filLoanAnswer } from '../../../api/schemas/loan.ts'
import { searchAnswer } from '../../../api/schemas/activity.ts'
import { MAX_TX_HASH } from '../../../shared/events/event-place.ts'
import { testApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { rowsRead, scansOf } from '../../helpers/query-plan.ts'
import { SEEDED_ID_STEP, seedLoan, seedRecords } from '../../helpers/seed-projection.ts'

/** A part as the indexer stores it: the protocol's fields but the three that the lookup adds. */
function partOf(answer: z.ZodObject): Record<string, string | null> {
  const fields = Object.keys(answer.shape).filter((name) => !['id', 'createdAt', 'updatedAt'].includes(name))
  return Object.fromEntries(fields.map((name, index) => [name, index % 4 === 3 ? null : `the "${name}"`]))
}

const ERC20_PART = partOf(erc20LoanAnswer.shape.payload.shape.erc20Loan)
const FIL_PART = partOf(filLoanAnswer.shape.payload.shape.collateralLock)

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
  t.equal(JSON.stringify(payload.erc20Loan), JSON.stringify({ id: '2', ...part, ...times }), 'in this order')
  t.strictSame(Object.keys(payload), ['erc20Loan', 'filCollateral', 'loanEvents', 'loanEventsTotal'])
  t.equal(payload.loanEventsTotal, 5)
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
        collateralLock: { id: '2', ...part, ...times },
        filLoan: {},
        filPayback: {},
        loanEvents: answer.payload.loanEvents,
        loanEventsTotal: 0,
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
    t.equal(erc20LoanAnswer.parse(response.json()).payload.erc20Loan.id, loanId)
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
    t.equal((await app.inject(`/api/loan/${route}/`)).statusCode, 404, 'no such route')
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
      // The version's table has one row, that of the kinds two, that of the heights one for each network.
      t.notMatch(plan, /Seq Scan on (?!fold_state |record_kinds |chain_position )/, plan)
      t.match(plan, /activity_loan/)
    }
  })
})

void t.test(
  'a loan of 20,000 records: the newest 1,000, how many there are, and the others page by page',
  async (t) => {
    const { app, db } = await testApi(t)
    await seedRecords(db, 40_000)
    await sql`update projection.activity set loan_id = '2'`.execute(db)
    await seedLoan(db, { loanType: 'ERC20FIL', loanId: '2', id: 77, part: ERC20_PART })
    const response = await app.inject('/api/loan/ERC20/2')
    t.equal(response.statusCode, 200, response.body.slice(0, 200))
    const { payload } = erc20LoanAnswer.parse(response.json())
    const shown = payload.loanEvents.map(({ id }) => id / SEEDED_ID_STEP)
    t.equal(payload.loanEventsTotal, 20_000)
    t.strictSame(
      shown,
      Array.from({ length: 1_000 }, (_, index) => 38_002 + 2 * index),
    )
    const others: number[] = []
    for (let before: number | null = payload.loanEvents[0]?.id ?? null; before !== null;) {
      const page = await app.inject(`/api/activity?loanId=2&loanType=ERC20FIL&limit=200&before=${before}`)
      const answer = searchAnswer.parse(page.json())
      others.push(...answer.payload.map(({ id }) => id / SEEDED_ID_STEP))
      before = answer.next
    }
    t.strictSame(
      others,
      Array.from({ length: 19_000 }, (_, index) => 38_000 - 2 * index),
    )
  },
)

void t.test('the records of the other market make a loan no slower', async (t) => {
  const { db } = await testDatabase(t)
  await seedRecords(db, 40_000)
  await sql`update projection.activity set loan_id = '2' where kind = 2`.execute(db)
  await sql`update projection.activity set loan_id = '2' where kind = 1 and id <= 10 * ${SEEDED_ID_STEP}`.execute(
    db,
  )
  await seedLoan(db, { loanType: 'ERC20FIL', loanId: '2', id: 77, part: ERC20_PART })
  await db.connection().execute(async (session) => {
    await sql.raw(`prepare loan (text) as ${LOOKUPS.ERC20FIL.text}`).execute(session)
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await sql.raw(`set plan_cache_mode = ${mode}`).execute(session)
      const scans = await scansOf(session, `loan('2')`, (table) => table === 'activity')
      t.ok(rowsRead(scans) <= 100, `${mode} reads ${rowsRead(scans)} rows`)
    }
  })
})

void t.test('no loan makes an answer above 2 MB, whatever its contract and its vouchers say', async (t) => {
  const { app, db } = await testApi(t, { asDocumented: false })
  await seedRecords(db, 4_000)
  await sql`update projection.activity set loan_id = '2', tx_hash = repeat('"', ${MAX_TX_HASH})`.execute(db)
  const huge = (part: Record<string, string | null>): Record<string, string> =>
    Object.fromEntries(Object.keys(part).map((name) => [name, `0x${'a1'.repeat(200_000)}`]))
  await seedLoan(db, {
    loanType: 'FILERC20',
    loanId: '2',
    id: 9,
    part: { ...huge(FIL_PART), contractLoanId: '2' },
  })
  const voucher = 'v'.repeat(60_000)
  for (const [id, role] of ['principal', 'payback'].entries()) {
    const shape =
      filLoanAnswer.shape.payload.shape[role === 'principal' ? 'filLoan' : 'filPayback'].options[0]
    const part = { ...huge(partOf(shape)), signedVoucher: voucher, secretA1: voucher, secretB1: voucher }
    await sql`
      insert into projection.channels (network, robust, id, state, addresses, parties, secret_hashes, stated_loans,
        created_s, loan_type, loan_id, role, strength, claimants, shown, part, created_at, updated_at, since)
      values ('filecoin:testnet', ${role}, ${id + 1}, '{}', '{}', '{}', '{}', '{}', 1, 'FILERC20', '2', ${role}, 4, '{}',
        true, ${JSON.stringify(part)}::json, now(), now(), 1)`.execute(db)
  }
  const response = await app.inject('/api/loan/FIL/2')
  t.equal(response.statusCode, 200)
  t.ok(response.rawPayload.length < 2_000_000, `${response.rawPayload.length} bytes`)
  const { payload } = response.json<{ payload: Record<string, Record<string, unknown>> }>()
  t.equal(payload['collateralLock']?.['filBorrower'], null, 'a value that is too long is not cut')
  t.equal(payload['filLoan']?.['signedVoucher'], voucher)
  t.equal(payload['loanEventsTotal'], 2_000)
  const shown = (payload['loanEvents'] as unknown as { id: number }[]).map(({ id }) => id)
  t.ok(shown.length > 100 && shown.length < 1_000, `${shown.length} records are shown`)
  t.strictSame(
    shown,
    [...shown].sort((a, b) => a - b),
  )
  t.equal(shown.at(-1), 4_000 * SEEDED_ID_STEP - SEEDED_ID_STEP, 'the newest')
})
