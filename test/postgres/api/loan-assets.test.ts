import { sql } from 'kysely'
import t from 'tap'
import { LOAN_ASSETS } from '../../../api/queries/loan-assets.ts'
import { testApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { rowsRead, scansOf } from '../../helpers/query-plan.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

type Assets = Record<string, { symbol: string | null; decimals: number | null; networkId: string }>

void t.test(
  'the tokens of all loans, with their decimals, and their symbols once they were read',
  async (t) => {
    const { app, db } = await testApi(t)
    await ingestStories(db, tellStories(5, 12))
    await seedNetwork(db, { network: 'evm:31337', indexed: 7 })
    const { rows } = await sql<{ token: string }>`
    select distinct evm_part->>'token' as token from projection.loans where evm_part->>'token' is not null order by 1`.execute(
      db,
    )
    t.ok(rows.length > 0)
    const get = async (networkId: string) => app.inject(`/api/loanAssets/${networkId}`)
    const before = await get('31337')
    const unread = before.json<{ payload: Assets }>().payload
    t.strictSame(Object.keys(unread).sort(), rows.map(({ token }) => token).sort())
    for (const asset of Object.values(unread))
      t.match(asset, { symbol: null, decimals: Number, networkId: '31337' })
    const [{ token } = { token: '' }] = rows
    await sql`update ledger.tokens set symbol = 'TST' where token = ${token}`.execute(db)
    const after = await get('31337')
    t.strictSame(after.json<{ payload: Assets }>().payload[token], { ...unread[token], symbol: 'TST' })
    t.not(after.headers.etag, before.headers.etag)
    t.equal(after.headers['x-indexed-evm-31337'], '7')
    t.strictSame((await get('ALL')).json(), after.json())
    const url = '/api/loanAssets/ALL'
    const again = await app.inject({ url, headers: { 'if-none-match': `${after.headers.etag}` } })
    t.equal(again.statusCode, 304)
    t.match(await app.inject({ url, method: 'HEAD' }), { statusCode: 200, body: '' })
  },
)

void t.test('a network that is not known is 400; without networks there are no tokens', async (t) => {
  const { app, db } = await testApi(t)
  t.strictSame((await app.inject('/api/loanAssets/ALL')).json(), { status: 'OK', payload: {} })
  await seedNetwork(db, { network: 'evm:31337' })
  t.strictSame((await app.inject('/api/loanAssets/31337')).json(), { status: 'OK', payload: {} })
  for (const networkId of ['1', 'all', '%00', 'x'.repeat(65)]) {
    const answer = await app.inject(`/api/loanAssets/${networkId}`)
    t.match(answer, { statusCode: 400 }, networkId)
    t.match(answer.json<{ message: string }>().message, /^networkId must /)
  }
  t.equal((await app.inject('/api/loanAssets/ALL?page=1')).statusCode, 400)
})

void t.test('of many tokens, those of one network are read by an index', async (t) => {
  const { db } = await testDatabase(t)
  await sql`insert into ledger.tokens (network_id, token) select n % 3, 'token ' || n from generate_series(1, 30000) n`.execute(
    db,
  )
  await sql`vacuum analyze ledger.tokens`.execute(db)
  await db.connection().execute(async (session) => {
    await sql`set enable_seqscan = off`.execute(session)
    await sql.raw(`prepare assets as ${LOAN_ASSETS.text}`).execute(session)
    const scans = await scansOf(session, `assets('{1}')`, (table) => table === 'tokens')
    t.equal(rowsRead(scans), 1_000)
  })
})
