import { sql } from 'kysely'
import t from 'tap'
import { DAILY_FIGURES, MOST_ROWS } from '../../../api/queries/daily-figures.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { rowsRead, scansOf } from '../../helpers/query-plan.ts'
import { recountedDays } from '../../helpers/recount-days.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

interface Figures {
  day: string
  loanType: string
  token: string
  opened: number
  closed: number
  seized: number
  cancelled: number
  principal: string
  open: number
}

async function get({ app }: Pick<TestApi, 'app'>, query: string) {
  const response = await app.inject(`/api/stats/daily?${query}`)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json<{ payload: Figures[]; next: string | null }>()
}

void t.test('the figures of each day and token are those of a recount of the log', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(5, 40, { handedIn: 1 }))
  await seedNetwork(api.db, { network: 'evm:31337', indexed: 7 })
  const { payload, next } = await get(api, 'from=1970-01-01')
  t.equal(next, null)
  const lines = payload.map(({ day, loanType, token, ...counts }) => {
    const { opened, closed, seized, cancelled, principal, open } = counts
    const ended = `closed ${closed} seized ${seized} cancelled ${cancelled}`
    const number = Date.parse(day) / 86_400_000
    return `${loanType} ${token} ${number} opened ${opened} ${ended} principal ${principal} open ${open}`
  })
  t.strictSame(lines.sort(), await recountedDays(api.db))
  const sum = (name: 'closed' | 'seized' | 'cancelled', type: string): number =>
    payload.filter(({ loanType }) => loanType === type).reduce((all, figures) => all + figures[name], 0)
  for (const type of ['ERC20FIL', 'FILERC20'])
    for (const name of ['closed', 'seized', 'cancelled'] as const)
      t.ok(sum(name, type) > 0, `${type} ${name}`)
  const [first] = payload
  const one = await get(api, `from=${first?.day}&to=${first?.day}&loanType=ERC20FIL`)
  t.strictSame(
    one.payload,
    payload.filter(({ day, loanType }) => day === first?.day && loanType === 'ERC20FIL'),
  )
  t.strictSame((await get(api, 'from=1970-01-01&loanType=ERC20FIL&loanType=FILERC20')).payload, payload)
  const whole = await api.app.inject('/api/stats/daily')
  t.match(whole, { statusCode: 200, headers: { etag: String, 'x-indexed-evm-31337': '7' } })
})

void t.test('a range that cannot be meant is 400', async (t) => {
  const { app } = await testApi(t)
  for (const [query, message] of [
    ['from=2026-02-30', /^from must be a day/],
    ['to=2026-11-21T00:00:00Z', /^to must be a day/],
    ['to=1969-12-31', /^to must be a day from 1970-01-01 on/],
    ['from=2026-11-22&to=2026-11-21', /^from must not be later than to$/],
    ['from=2026-11-22&from=2026-11-22', /^from must be given once$/],
    ['loanType=FIL', /^loanType must be one of ERC20FIL, FILERC20$/],
    ['page=1', /^there is no parameter "page" here$/],
  ] as const) {
    const answer = await app.inject(`/api/stats/daily?${query}`)
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json<{ message: string }>().message, message)
  }
})

void t.test('many rows come in answers of whole days, however many there are', async (t) => {
  const api = await testApi(t)
  await sql`insert into projection.daily (loan_type, network_id, token, day, opened, open)
    select 'ERC20FIL', '1', 'token ' || token, 20000 + day, 1, 1
    from generate_series(1, 60) day, generate_series(1, case day when 30 then 2500 else 90 end) token`.execute(
    api.db,
  )
  const seen: Figures[] = []
  const days: number[] = []
  for (let from: string | null = '1970-01-01'; from !== null;) {
    const { payload, next }: { payload: Figures[]; next: string | null } = await get(
      api,
      `from=${from}&to=2100-01-01`,
    )
    seen.push(...payload)
    days.push(new Set(payload.map(({ day }) => day)).size)
    from = next
  }
  t.equal(seen.length, 59 * 90 + MOST_ROWS, 'of the one day that is too long, the rows that fit')
  t.equal(new Set(seen.map(({ day, token }) => `${day} ${token}`)).size, seen.length, 'none twice')
  t.equal(
    days.reduce((sum, count) => sum + count, 0),
    60,
    'no day in two answers',
  )
  const longest = new Date((20_000 + 30) * 86_400_000).toISOString().slice(0, 10)
  t.equal((await get(api, `from=${longest}&to=${longest}`)).next, null, 'nothing follows the last day')
})

void t.test('an answer reads no more than it has', async (t) => {
  const { db } = await testDatabase(t)
  await sql`insert into projection.daily (loan_type, network_id, token, day, open)
    select 'ERC20FIL', '1', 'token ' || n % 50, 10000 + n / 50, 1 from generate_series(1, 60000) n`.execute(
    db,
  )
  // Without statistics a small table may be read and sorted.
  await sql`vacuum analyze projection.daily`.execute(db)
  await db.connection().execute(async (session) => {
    await sql`set enable_seqscan = off`.execute(session)
    await sql.raw(`prepare daily as ${DAILY_FIGURES.text}`).execute(session)
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await sql.raw(`set plan_cache_mode = ${mode}`).execute(session)
      const execute = `daily('1970-01-01', '2100-01-01', null)`
      const read = rowsRead(await scansOf(session, execute, (table) => table === 'daily'))
      t.ok(read <= MOST_ROWS + 1, `${mode} reads ${read} rows`)
    }
  })
})
