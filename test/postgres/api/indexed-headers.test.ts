import { sql } from 'kysely'
import t from 'tap'
import { testApi } from '../../helpers/api.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

const LISTS = [
  '/api/activity/history',
  '/api/activity/history/1',
  '/api/activity?limit=2',
  '/api/orders/lend/available',
  '/api/orders/borrow/closed',
  '/api/loans/account/f099',
]

void t.test('each answer says how far each network was indexed, kept answers too', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 3)
  for (const url of LISTS)
    t.equal((await app.inject(url)).headers['x-indexed-evm-31337'], undefined, 'no network yet')
  await seedNetwork(db, { network: 'evm:31337', indexed: 7 })
  await seedNetwork(db, { network: 'evm:5:second', indexed: 9 })
  await sql`update projection.fold_state set version = gen_random_uuid()`.execute(db)
  for (const url of LISTS) {
    // Asked twice: the second is a kept answer.
    for (const height of [7, 7]) {
      const { headers } = await app.inject(url)
      t.match(headers, { 'x-indexed-evm-31337': String(height), 'x-indexed-evm-5-second': '9' }, url)
    }
  }
  // A block without events moves the height and leaves every answer as it is.
  await sql`update ledger.chain_position set number = 8 where network = 'evm:31337'`.execute(db)
  for (const url of LISTS) {
    const { headers } = await app.inject(url)
    t.equal(headers['x-indexed-evm-31337'], '8', url)
    t.equal(headers['cache-control'], 'public, max-age=0, s-maxage=1, must-revalidate')
    const again = await app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })
    t.match(again, { statusCode: 304, headers: { 'x-indexed-evm-31337': '8' } }, url)
    const head = await app.inject({ url, method: 'HEAD' })
    t.match(
      head,
      { statusCode: 200, body: '', headers: { etag: headers.etag, 'x-indexed-evm-31337': '8' } },
      url,
    )
  }
})

void t.test('answers that are read anew each time carry the same headers', async (t) => {
  const { app, db } = await testApi(t)
  const chains = tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 })
  await ingestStories(db, chains)
  const heights = {
    'x-indexed-evm-31337': `${chains.evm.at(-1)?.blockNumber}`,
    'x-indexed-filecoin-testnet': `${chains.filecoin.at(-1)?.blockNumber}`,
  }
  for (const url of [
    '/api/loan/ERC20/1/next',
    '/api/loan/ERC20/1/vouchers',
    '/api/activity/1000000',
    '/api/protocolContracts',
    '/api/status',
  ]) {
    const whole = await app.inject(url)
    const { etag } = whole.headers
    const expected = {
      ...heights,
      'cache-control': 'public, max-age=0, s-maxage=1, must-revalidate',
      etag: /^W\/"/,
    }
    t.match(whole, { statusCode: 200, headers: expected }, url)
    const again = await app.inject({ url, headers: { 'if-none-match': `${etag}` } })
    t.match(again, { statusCode: 304, body: '', headers: expected }, url)
    const head = await app.inject({ url, method: 'HEAD' })
    t.match(head, { statusCode: 200, body: '', headers: { ...expected, etag } }, url)
    t.equal(head.headers['content-length'], `${whole.rawPayload.length}`, url)
  }
})
