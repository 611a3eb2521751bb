import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { putDeadLetter } from '../../indexer/ingest/dead-letters.store.ts'
import { connect } from '../../shared/db/connect.ts'
import { testDatabase } from '../helpers/database.ts'
import { eventually, processesWith, runScript, type RunningProgram } from '../helpers/programs.ts'
import { testRedis } from '../helpers/redis.ts'
import { ownPorts } from '../helpers/started-service.ts'
import { parseServiceEnv } from '../helpers/service-env.ts'

/** Operators' commands in a second shell, beside an `npm start` of which some is configured. */

t.setTimeout(900_000)

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'loan-activity-start-ops-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const networksFile = join(folder, 'networks.json')
writeFileSync(
  networksFile,
  JSON.stringify({ filecoin: [{ networkId: 'testnet', rpcUrls: ['http://127.0.0.1:1/rpc/v1'] }] }),
)

async function started(
  t: Test,
  name: string,
  configured: Record<string, string>,
): Promise<{ dataDir: string; service: RunningProgram }> {
  const dataDir = join(folder, name)
  const ports = await ownPorts(dataDir)
  // Left by one that was killed, and opened by somebody since.
  writeFileSync(join(dataDir, 'service.env'), '')
  chmodSync(join(dataDir, 'service.env'), 0o644)
  const service = runScript('devnet/start/main.ts', [], { ...ports, ...configured })
  t.teardown(async () => {
    service.signal('SIGINT')
    await service.ended
    for (const { pid } of processesWith(dataDir)) process.kill(pid, 'SIGKILL')
  })
  await service.printed(/health\s+http:/)
  return { dataDir, service }
}

void t.test('a dead letter goes to the queue that the indexer has', async (t) => {
  const redisUrl = await testRedis(t)
  if (redisUrl === null) return
  const { dataDir } = await started(t, 'redis', { REDIS_URL: redisUrl, NETWORKS_FILE: networksFile })
  t.equal(statSync(join(dataDir, 'service.env')).mode & 0o777, 0o600, 'passwords are the owner’s alone')
  const { DATABASE_URL: databaseUrl = '', ...others } = parseServiceEnv(dataDir)
  t.match(others, { REDIS_URL: redisUrl })
  const db = connect(databaseUrl, { name: 'loan-activity test', max: 1 })
  t.teardown(() => db.destroy())
  const letter = { queue: 'vouchers', jobId: '7', network: 'testnet', reason: 'too early' }
  await putDeadLetter(db, { ...letter, payload: { network: 'testnet', voucher: 'AAAA' } })

  const ops = runScript('indexer/cli/main.ts', ['dead-letters', 'retry', 'all'], { DATA_DIR: dataDir })
  t.equal((await ops.ended).code, 0, ops.stderr())
  t.match(ops.stdout(), '1 handed in again')
  const { rows } = await sql`select 1 from pg_namespace where nspname = 'queue'`.execute(db)
  t.same(rows, [], 'nothing waits in Postgres')
  const reasons = async (): Promise<string[]> =>
    (await db.selectFrom('ledger.dead_letters').select('reason').execute()).map(({ reason }) => reason)
  await eventually('the indexer takes it from its Redis, and refuses it for a reason of its own', async () =>
    (await reasons()).some((reason) => reason !== letter.reason),
  )
})

void t.test('what a start was configured with is found as well', async (t) => {
  const { url } = await testDatabase(t)
  const other = await testDatabase(t)
  const urlFile = join(folder, 'database-url')
  writeFileSync(urlFile, `${url}\n`)
  const configured = { DATABASE_URL_FILE: urlFile, NETWORKS_FILE: relative(ROOT, networksFile) }
  const { dataDir } = await started(t, 'configured', configured)
  t.same(parseServiceEnv(dataDir), { DATABASE_URL: url, NETWORKS_FILE: networksFile })

  const nothing = join(folder, 'vouchers.txt')
  writeFileSync(nothing, '# nothing\n')
  const importing = async (own: Record<string, string>): Promise<{ code: number | null; err: string }> => {
    const args = ['vouchers', 'import', nothing]
    const ops = runScript('indexer/cli/main.ts', args, { DATA_DIR: dataDir, ...own })
    return { code: (await ops.ended).code, err: ops.stderr() }
  }
  const read = /^reading \S+vouchers\.txt\n$/
  t.match(await importing({}), { code: 0, err: read }, 'by a shell that knows the folder alone')
  t.match(await importing({ DATABASE_URL: url, NETWORKS_FILE: '' }), { code: 0 }, 'or the database as well')
  t.match(
    await importing({ NETWORKS_FILE: join(folder, 'missing.json') }),
    { code: 2, err: /NETWORKS_FILE .*missing\.json cannot be read/ },
    'a variable of the shell comes first',
  )
  t.match(
    await importing({ DATABASE_URL: other.url }),
    { code: 2, err: /NETWORKS_FILE is not set/ },
    'and to another database nothing of it belongs',
  )
})
