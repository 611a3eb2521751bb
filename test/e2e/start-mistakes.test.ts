import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { testDatabase } from '../helpers/database.ts'
import { processesWith, runScript } from '../helpers/programs.ts'
import { ownPorts } from '../helpers/started-service.ts'

/** Every mistake ends in one clear line and an exit code, with nothing left running; what is only away is waited for. */

const folder = mkdtempSync(join(tmpdir(), 'loan-activity-mistakes-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
let runs = 0

async function refuses(
  t: Test,
  environment: Record<string, string>,
  expected: { code: number; line: RegExp; startsNothing?: boolean },
): Promise<void> {
  const dataDir = join(folder, `data-${(runs += 1)}`)
  const program = runScript('devnet/start/main.ts', [], { ...(await ownPorts(dataDir)), ...environment })
  const { code } = await program.ended
  t.equal(code, expected.code, 'exit code')
  t.equal(program.stderr().trim().split('\n').length, 1, `one line: ${program.stderr()}`)
  t.match(program.stderr(), expected.line)
  t.same(processesWith(dataDir), [], 'nothing is left running')
  if (expected.startsNothing === true) {
    t.notOk(readdirSync(dataDir).includes('logs'), 'nothing was started')
  }
}

void t.test('malformed variables are named', async (t) => {
  const missing = join(folder, 'missing.json')
  const cases = [
    [{ API_PORT: 'abc' }, /^start: API_PORT must be a port number\n$/],
    [{ LOG_LEVEL: 'loud' }, /^start: LOG_LEVEL /],
    [{ DATABASE_URL: 'mysql://a/b' }, /^start: DATABASE_URL must be a URL that starts with postgres/],
    [{ NETWORKS_FILE: missing }, /^start: NETWORKS_FILE .*missing\.json cannot be read/],
    [{ API_PORT: '4100', INDEXER_PORT: '4100' }, /^start: API_PORT and INDEXER_PORT are both 4100/],
    [{ DATA_DIR: '/dev/null/x' }, /^start: DATA_DIR \/dev\/null\/x cannot be used/],
  ] as const
  await Promise.all(
    cases.map(([variables, line]) => refuses(t, variables, { code: 2, line, startsNothing: true })),
  )
})

void t.test('a port in use is named with its variable before anything is started', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const cases = [
    [{ API_PORT: `${port}` }, new RegExp(`API_PORT ${port} on 127.0.0.1 is in use`)],
    [{ INDEXER_PORT: `${port}` }, new RegExp(`INDEXER_PORT ${port} on 127.0.0.1 is in use`)],
    [{ API_HOST: '192.0.2.1' }, /API_HOST 192\.0\.2\.1 is no address of this machine/],
  ] as const
  await Promise.all(
    cases.map(([variables, line]) => refuses(t, variables, { code: 1, line, startsNothing: true })),
  )
})

void t.test('a database that cannot be used', async (t) => {
  const { url, db } = await testDatabase(t)
  const wrongPassword = new URL(url)
  wrongPassword.password = 'not-the-password'
  const otherDatabase = new URL(url)
  otherDatabase.pathname = '/no_such_database'
  const cases = [
    ['postgres://user:secret@127.0.0.1:1/x', /DATABASE_URL: the database cannot be reached/],
    [wrongPassword.href, /DATABASE_URL: password authentication failed/],
    [otherDatabase.href, /DATABASE_URL: database "no_such_database" does not exist/],
  ] as const
  await Promise.all(cases.map(([address, line]) => refuses(t, { DATABASE_URL: address }, { code: 1, line })))
  await sql`insert into migration.kysely_migration (name, timestamp) values ('9999-newer', 'now')`.execute(db)
  await refuses(t, { DATABASE_URL: url }, { code: 2, line: /9999-newer, which this version does not know/ })
})

void t.test('networks that are not what the file says', async (t) => {
  const { url } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const networksFile = (networkId: string, rpcUrl: string): string => {
    const file = join(folder, `networks-${networkId}-${new URL(rpcUrl).port}.json`)
    const erc20Loans = { address: `0x${'11'.repeat(20)}` }
    const network = { blockchain: 'DEVNET', networkId, rpcUrls: [rpcUrl], erc20Loans }
    writeFileSync(file, JSON.stringify({ evm: [network] }))
    return file
  }
  const cases = [
    [networksFile('5', anvil.url), 2, /^start: indexer: .*31337/],
    [networksFile('31337', anvil.url), 2, /^start: indexer: .*no (contract )?code/],
  ] as const
  await Promise.all(
    cases.map(([file, code, line]) => refuses(t, { DATABASE_URL: url, NETWORKS_FILE: file }, { code, line })),
  )
})

void t.test(
  'a node that cannot be reached is no mistake: it is tried again, and the API answers',
  async (t) => {
    const { url } = await testDatabase(t)
    const file = join(folder, 'unreachable.json')
    const erc20Loans = { address: `0x${'11'.repeat(20)}` }
    const network = { blockchain: 'DEVNET', networkId: '31337', rpcUrls: ['http://127.0.0.1:1'], erc20Loans }
    writeFileSync(file, JSON.stringify({ evm: [network] }))
    const dataDir = join(folder, 'unreachable')
    const program = runScript('devnet/start/main.ts', [], {
      ...(await ownPorts(dataDir)),
      ...{ DATABASE_URL: url, NETWORKS_FILE: file },
    })
    t.teardown(() => program.signal('SIGKILL'))
    const [, health = ''] = await program.printed(/health\s+(http:\S+)/)
    const readiness = await fetch(health)
    t.equal(readiness.status, 503)
    t.match(await readiness.text(), /evm:31337: retrying: the node does not answer as needed \(endpoint 1\)/)
    t.match(
      readFileSync(join(dataDir, 'logs', 'indexer.log'), 'utf8'),
      /127\.0\.0\.1:1\): ECONNREFUSED[^"]*: it is tried again/,
    )
    program.signal('SIGINT')
    t.match(await program.ended, { code: 0 })
    t.equal(program.stderr(), '')
  },
)
