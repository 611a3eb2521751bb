import { sql } from 'kysely'
import t from 'tap'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { ingestLedger, ingestStories, EVM } from '../../helpers/ingest-ledger.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

interface Told {
  record: { id: number; event: string; txHash: string }
  source: string
  way: string | null
  network: string | null
  block: number | null
  epoch: number | null
  hash: string | null
  time: string | null
  finality: string | null
  proof: { kind: string; checks: string[] } | null
  readAt: string | null
  position: number
  history: { op: string; position: number }[]
}

async function tell({ app }: Pick<TestApi, 'app'>, id: number): Promise<Told> {
  return (await app.inject(`/api/activity/${id}`)).json<{ payload: Told }>().payload
}

async function records({ app }: Pick<TestApi, 'app'>): Promise<Told['record'][]> {
  return (await app.inject('/api/activity?limit=200')).json<{ payload: Told['record'][] }>().payload
}

void t.test('each record of both chains says where it comes from', async (t) => {
  const api = await testApi(t)
  const chains = tellStories(1, 2, { end: 'repaid', handedIn: 1 })
  await ingestStories(api.db, chains)
  const sources = new Set<string>()
  for (const record of await records(api)) {
    const told = await tell(api, record.id)
    t.strictSame(told.record, record)
    sources.add(told.source)
    if (record.event.includes('/Sign')) {
      t.match(told, { source: /redemption|handed in|derived/, finality: null, proof: null })
      continue
    }
    const event = [...chains.evm, ...chains.filecoin].find(({ txHash }) => txHash === record.txHash)
    const isEvm = event !== undefined && 'loanId' in event
    t.match(told, {
      source: 'chain',
      network: isEvm ? 'evm:31337' : 'filecoin:testnet',
      block: isEvm ? event.blockNumber : null,
      epoch: isEvm ? null : event?.blockNumber,
      hash: event?.blockHash,
      time: new Date((event?.blockTimeS ?? 0) * 1000).toISOString(),
      finality: 'seen',
      history: [{ op: 'append' }],
    })
    t.equal(told.position, told.history[0]?.position)
  }
  t.ok(sources.has('handed in') && sources.has('chain'), [...sources].join())
})

void t.test('only what was checked is claimed, and final is what the network has finalized', async (t) => {
  const api = await testApi(t)
  const { evm } = tellStories(1, 1, { market: 'erc20', end: 'repaid' })
  await ingestLedger(api.db, EVM, evm)
  const [first] = evm
  const id = (await records(api)).at(-1)?.id ?? 0
  if (first === undefined) throw new Error('no event')
  t.match(await tell(api, id), { proof: null, readAt: null }, 'no range is noted')
  for (const [checks, kind] of [
    [['bloom'], 'bloom'],
    [['two'], 'two'],
    [['bloom', 'two'], 'two'],
    [['bloom', 'one'], 'one'],
    [['receipts', 'bloom'], 'bloom'],
    [['receipts'], 'receipts'],
    [['not known'], 'one'],
  ] as const) {
    await sql`delete from ledger.ranges_read`.execute(api.db)
    await sql`insert into ledger.ranges_read (network, from_number, to_number, endpoints, checks, counts, read_at)
      values ('evm:31337', 0, ${first.blockNumber}, '{secret.example}', ${[...checks]}::text[], '{1}', '2030-01-01T00:00:00Z')`.execute(
      api.db,
    )
    t.match(await tell(api, id), { proof: { kind, checks }, readAt: '2030-01-01T00:00:00.000Z' })
  }
  t.notMatch((await api.app.inject(`/api/activity/${id}`)).body, 'secret.example', 'no endpoint is named')
  await sql`update ledger.ranges_read set to_number = ${first.blockNumber - 1}`.execute(api.db)
  t.match(await tell(api, id), { proof: null }, 'another range says nothing of this block')
  for (const [finalized, finality] of [
    [first.blockNumber - 1, 'seen'],
    [first.blockNumber, 'final'],
  ] as const) {
    await sql`update ledger.chain_position set finalized_number = ${finalized}, finalized_hash = '0x'`.execute(
      api.db,
    )
    t.match(await tell(api, id), { finality })
  }
})

void t.test('a record keeps how its own block was proven, and a better second reading counts', async (t) => {
  const api = await testApi(t)
  const { evm } = tellStories(1, 1, { market: 'erc20', end: 'repaid' })
  const [first] = evm
  const last = evm.at(-1)
  if (first === undefined || last === undefined) throw new Error('no event')
  const { blockNumber } = first
  await ingestLedger(api.db, EVM, evm, [
    { from: 0, to: blockNumber - 1, endpoint: 'a', check: 'one' },
    { from: blockNumber, to: blockNumber, endpoint: 'a', check: 'bloom' },
    { from: blockNumber + 1, to: last.blockNumber, endpoint: 'a', check: 'receipt-list' },
  ])
  const [newest, oldest] = [(await records(api))[0]?.id ?? 0, (await records(api)).at(-1)?.id ?? 0]
  t.match(await tell(api, newest), { proof: { kind: 'one' } }, 'receipts without their root prove nothing')
  const read = (checks: string[]) =>
    sql`
    update ledger.ranges_read set from_number = 0, to_number = 1000000, checks = ${checks}::text[]`.execute(
      api.db,
    )
  await sql`delete from ledger.ranges_read where from_number > 0`.execute(api.db)
  for (const [checks, kind] of [
    [['one', 'receipts'], 'bloom'],
    [['receipts'], 'receipts'],
  ] as const) {
    await read([...checks])
    t.match(await tell(api, oldest), { proof: { kind, checks } })
  }
})

void t.test(
  'an unknown record is 404, what cannot be an id is 400; ETag, HEAD and a plan without scans',
  async (t) => {
    const api = await testApi(t)
    await ingestStories(api.db, tellStories(1, 1, { market: 'erc20', end: 'repaid' }))
    for (const [id, code, message] of [
      ['1', 404, 'there is no record 1'],
      ['999999999999999999', 404, 'there is no record 999999999999999999'],
      ['0', 400, 'id must be the id of a record'],
      ['x', 400, 'id must be the id of a record'],
      ['9999999999999999999', 400, 'id must be the id of a record'],
      ['1?explain=1', 400, 'there is no parameter "explain" here'],
    ] as const) {
      const response = await api.app.inject(`/api/activity/${id}`)
      t.equal(response.statusCode, code, id)
      t.equal(response.json<{ message: string }>().message, message)
    }
    const [record] = await records(api)
    const url = `/api/activity/${record?.id}`
    const { headers } = await api.app.inject(url)
    const again = await api.app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })
    t.equal(again.statusCode, 304)
    t.equal((await api.app.inject({ url, method: 'HEAD' })).headers.etag, headers.etag)
  },
)
