import { sql } from 'kysely'
import { once } from 'node:events'
import t from 'tap'
import { testDatabase } from '../../helpers/database.ts'
import { emptyEvmNode, endWithItsBlock } from '../../helpers/empty-evm-node.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { runOps, startOps } from '../../helpers/run-ops.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

void t.test('verify --json is one JSON, whatever differs', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  const { networks } = await emptyEvmNode(t)
  const stories = tellStories(3, 4)
  await ingestStories(db, stories)
  const { number } = await db.selectFrom('ledger.chain_position').select('number').executeTakeFirstOrThrow()
  await endWithItsBlock(db, number ?? 0)
  const verify = (...args: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl, networks }, 'verify', '--network', 'evm:31337', ...args)
  const ran = await verify('--json')
  t.equal(ran.code, 1, ran.err)
  const told = JSON.parse(ran.out) as {
    retracted: number
    differences: { blockNumber: number; naturalKey: string }[]
  }
  t.match(told, { finished: true, appended: 0, replaced: 0, from: 0 })
  t.ok(told.retracted > 3)
  t.equal(told.differences.length, told.retracted, 'each difference is in it')
  t.match(told.differences[0], { op: 'retract', blockNumber: Number, naturalKey: /^0x/ })
  const text = await verify()
  for (const { blockNumber, naturalKey } of told.differences)
    t.match(text.out, `not on the chain: block ${blockNumber} ${naturalKey}\n`)
  t.match(text.out, `0 missing, 0 different, ${told.retracted} foreign\n`)
})

void t.test('replay --json answers, finished or interrupted', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  await ingestStories(db, tellStories(3, 4))
  const setup = { databaseUrl, networks: {} }
  await db.transaction().execute(async (trx) => {
    await sql`lock table projection.activity in share update exclusive mode`.execute(trx)
    const { child, ended } = await startOps(t, setup, 'replay', '--json')
    if (child.stderr !== null) await once(child.stderr, 'data')
    child.kill('SIGINT')
    const { code, out, err } = await ended
    t.equal(code, 1, err)
    t.match(err, 'run `replay` again to go on')
    t.match(JSON.parse(out), {
      finished: false,
      foldedPosition: Number,
      lastPosition: Number,
      seconds: Number,
    })
  })
  const { code, out, err } = await runOps(t, setup, 'replay', '--json')
  t.equal(code, 0, err)
  t.match(JSON.parse(out), { finished: true, foldedPosition: Number, digest: String })
})

void t.test('migrate --json tells what ran', async (t) => {
  const { url: databaseUrl } = await testDatabase(t, { migrated: false })
  const migrate = async (): Promise<unknown> =>
    JSON.parse((await runOps(t, { databaseUrl, networks: {} }, 'migrate', '--json')).out)
  t.match(await migrate(), { ran: [/^\d{4}-[a-z]/] })
  t.same(await migrate(), { ran: [] })
})
