import { execFile } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { testDatabase } from '../helpers/database.ts'
import { eventually, runNpm, type RunningProgram } from '../helpers/programs.ts'
import { testRedis } from '../helpers/redis.ts'
import { freePort } from '../helpers/free-port.ts'

/** What docker-compose.yml runs, without Docker: compiled JavaScript, a real Postgres, a real Redis, a real node. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const historySchema = z.object({ payload: z.array(z.object({ event: z.string() })), pages: z.int() })
const statusSchema = z.object({ payload: z.object({ records: z.int() }) })

/** The files of an image: package.json, launcher, dist/; no source and no packages. */
async function buildInto(folder: string): Promise<void> {
  mkdirSync(join(folder, '.config'))
  for (const file of ['package.json', '.config/run.mjs']) copyFileSync(join(ROOT, file), join(folder, file))
  await promisify(execFile)(process.execPath, [join(ROOT, '.config/build.mjs'), join(folder, 'dist')])
}

async function playedChain(t: Test, folder: string): Promise<{ networksFile: string; events: number }> {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const diary = await createPlayer({ rpcUrl: anvil.url, deployment, seed: 'production' }).playLoans(20)
  const networksFile = join(folder, 'networks.json')
  const network = {
    blockchain: 'DEVNET',
    networkId: '31337',
    // A token in a URL is no business of the file's.
    rpcUrls: ['${TEST_RPC_URL}'],
    erc20Loans: { address: deployment.erc20Loans },
    erc20CollateralLock: { address: deployment.erc20CollateralLock },
  }
  writeFileSync(networksFile, JSON.stringify({ evm: [network] }))
  process.env['TEST_RPC_URL'] = anvil.url
  return { networksFile, events: diary.length }
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  )
}

void t.test(
  'stacks of our own files are told by their sources; packages have no map, which would be 50 MiB',
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'loan-activity-maps-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    await buildInto(folder)
    const found = { own: 0, packages: 0 }
    const dist = join(folder, 'dist')
    for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.js')) continue
      const payload = JSON.parse(readFileSync(join(dist, `${name}.map`), 'utf8')) as SourceMapPayload
      const map = new SourceMap(payload)
      // Each module of a bundle begins with a comment that names it.
      for (const [index, line] of readFileSync(join(dist, name), 'utf8').split('\n').entries()) {
        const [, file] = /^ *\/\/ (\S+\.[cm]?[jt]s)$/.exec(line) ?? []
        if (file === undefined) continue
        const entry = map.findEntry(index + 1, 80)
        const source = 'originalSource' in entry ? entry.originalSource : undefined
        if (file.startsWith('node_modules/')) {
          if (source !== undefined) t.fail(`${file} is said to be ${source}`)
          found.packages += 1
        } else if (/^(indexer|api|shared|migrations)\//.test(file)) {
          if (source?.endsWith(file) !== true) t.fail(`${file} is said to be ${source ?? 'nothing'}`)
          found.own += 1
        }
      }
    }
    t.ok(found.own > 100 && found.packages > 100, JSON.stringify(found))
  },
)

void t.test('build, migrate, indexer, api and ops of the compiled program', async (t) => {
  const redisUrl = await testRedis(t)
  if (redisUrl === null) return
  const folder = mkdtempSync(join(tmpdir(), 'loan-activity-production-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { url: databaseUrl } = await testDatabase(t, { migrated: false })
  const [chain] = await Promise.all([playedChain(t, folder), buildInto(folder)])
  const [apiPort, indexerPort] = [await freePort(), await freePort()]
  const environment = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    NETWORKS_FILE: chain.networksFile,
    TEST_RPC_URL: process.env['TEST_RPC_URL'] ?? '',
    API_PORT: `${apiPort}`,
    INDEXER_PORT: `${indexerPort}`,
  }
  const programs: RunningProgram[] = []
  const run = (...args: string[]): RunningProgram => {
    const program = runNpm(folder, args, environment)
    programs.push(program)
    return program
  }
  t.teardown(() => programs.forEach((program) => program.signal('SIGTERM')))

  const early = run('api')
  t.equal((await early.ended).code, 2, 'without a schema it does not start')
  t.match(early.stderr(), /run `npm run migrate` first/)

  const migrations = [run('migrate'), run('migrate')]
  for (const { ended } of migrations) t.equal((await ended).code, 0, 'two may migrate at once')

  const [indexer, api] = [run('indexer'), run('api')]
  const url = `http://127.0.0.1:${apiPort}`
  await eventually('both are healthy', async () => {
    return (await answers(`${url}/healthz`)) && (await answers(`http://127.0.0.1:${indexerPort}/healthz`))
  })
  await eventually('every event is a record', async () => {
    const status = statusSchema.parse(await (await fetch(`${url}/api/status`)).json())
    return status.payload.records === chain.events
  })
  const { payload, pages } = historySchema.parse(await (await fetch(`${url}/api/activity/history`)).json())
  t.equal(payload.length, 25)
  t.equal(pages, Math.ceil(chain.events / 25))
  await eventually('ready', () => answers(`${url}/readyz`))

  const status = run('ops', '--', 'status')
  t.equal((await status.ended).code, 0, `ops runs from dist/: ${status.stdout()}${status.stderr()}`)
  const audit = run('ops', '--', 'audit', '--json')
  t.equal(
    (await audit.ended).code,
    0,
    `nothing differs from the contracts: ${audit.stdout()}${audit.stderr()}`,
  )

  for (const program of [api, indexer]) {
    program.signal('SIGTERM')
    t.same(await program.ended, { code: 0, signal: null }, 'stops in order')
    t.equal(program.stderr(), '')
  }
  t.notOk(await answers(`${url}/healthz`), 'and has really gone')
})
