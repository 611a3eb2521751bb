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
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import * as z from 'zod'
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

const ROLES = { indexer: 'loan_activity_indexer', api: 'loan_activity_api' }
const ROLE_PASSWORD = 'letters1'

/** Variables of the programs that have a database role of their own. */
const ROLE_URLS: Record<string, (url: string) => Record<string, string>> = {
  indexer: (url) => ({ DATABASE_URL: asRole(url, ROLES.indexer) }),
  api: (url) => ({ DATABASE_URL: asRole(url, ROLES.api) }),
  ops: () => ({ INDEXER_PASSWORD: ROLE_PASSWORD, API_PASSWORD: ROLE_PASSWORD }),
}

function asRole(databaseUrl: string, role: string): string {
  const url = new URL(databaseUrl)
  url.username = role
  url.password = ROLE_PASSWORD
  return url.href
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  )
}

/** Named functions of TypeScript or of a bundle, where they are made. */
const FUNCTION = /\bfunction\*? ?(\w+)[<(]/g

/** The names of the functions that each of our own files makes, by the file's path. */
function ownFunctions(): Map<string, Set<string>> {
  const own = new Map<string, Set<string>>()
  for (const top of ['indexer', 'api', 'shared', 'migrations']) {
    for (const name of readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue
      const code = readFileSync(join(ROOT, top, name), 'utf8')
      own.set(join(top, name), new Set([...code.matchAll(FUNCTION)].map(([, made]) => made ?? '')))
    }
  }
  return own
}

void t.test('the code of a bundle', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'loan-activity-bundle-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await buildInto(folder)
  const dist = join(folder, 'dist')
  // For browsers: the pages of Swagger UI and Bull Board, and ours.
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.js') && !/^(static|queue-page|api\/page)\//.test(name),
  )
  const codeOf = (name: string): string => readFileSync(join(dist, name), 'utf8')

  void t.test('names a mistake in the networks file in our own words', async (t) => {
    const networksFile = join(folder, 'wrong.json')
    writeFileSync(networksFile, JSON.stringify({ evm: [{ blockchain: 1 }] }))
    const wrong = runNpm(folder, ['indexer'], {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      NETWORKS_FILE: networksFile,
    })
    t.equal((await wrong.ended).code, 2)
    t.match(wrong.stderr(), /evm\.0\.blockchain: must be text, not a number/)
  })

  void t.test('comes with the licences of its packages', (t) => {
    const licences = codeOf('LICENSES.txt')
    for (const name of ['@glif/filecoin-rpc-client', 'bullmq', 'fastify', 'kysely', 'pg', 'preact', 'zod'])
      t.match(licences, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+: `, 'm'), name)
    t.ok(licences.split('Permission is hereby granted').length > 100, 'as texts')
    t.end()
  })

  void t.test('has characters of one byte alone, or V8 keeps all of a file at two bytes each', (t) => {
    for (const name of files) {
      t.same(/[^\0-\xff]/.exec(codeOf(name)), null, name)
    }
    t.end()
  })

  void t.test(
    'stacks of our own files are told by their sources; packages have no map, which would be 50 MiB',
    (t) => {
      const own = ownFunctions()
      const found = { own: new Set<string>(), packages: 0 }
      for (const name of files) {
        const payload = JSON.parse(readFileSync(join(dist, `${name}.map`), 'utf8')) as SourceMapPayload
        const map = new SourceMap(payload)
        for (const [index, line] of codeOf(name).split('\n').entries()) {
          for (const { index: column, 1: made = '' } of line.matchAll(FUNCTION)) {
            const entry = map.findEntry(index, column)
            const source =
              'originalSource' in entry ? (entry.originalSource as string | undefined) : undefined
            if (source === undefined) {
              found.packages += 1
              continue
            }
            const file = relative(ROOT, resolve(dist, name, '..', source))
            // Where two files of a bundle make one of the same name, a number is put to it.
            const names = [made, made.replace(/\d$/, '')].filter((one) => own.get(file)?.has(one) === true)
            if (names.length === 0) t.fail(`${made} is said to be of ${file}`)
            for (const one of names) found.own.add(`${file} ${one}`)
          }
        }
      }
      // What a bundle does not need of a file is not in it, but a package may have a function of the same name.
      const isMade = (name: string): boolean =>
        files.some((file) => new RegExp(`\\bfunction\\*? ?${name}\\(`).test(codeOf(file)))
      const bundled = new Set([...found.own].map((one) => one.split(' ')[0]))
      const untold = [...own]
        .filter(([file]) => bundled.has(file))
        .flatMap(([file, names]) => [...names].filter((name) => !found.own.has(`${file} ${name}`)))
        .filter(isMade)
      t.ok(untold.length < 5, `without a source: ${untold.join(', ')}`)
      t.ok(found.own.size > 500 && found.packages > 1000, `${found.own.size}, ${found.packages}`)
      t.end()
    },
  )
})

void t.test('build, migrate, indexer, api and ops of the compiled program', async (t) => {
  const redisUrl = await testRedis(t)
  if (redisUrl === null) return
  const folder = mkdtempSync(join(tmpdir(), 'loan-activity-production-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { url: databaseUrl, db } = await testDatabase(t, { migrated: false })
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
  /** As the owner of the database, unless a program has a role of its own. */
  const run = (...args: string[]): RunningProgram => {
    const program = runNpm(folder, args, { ...environment, ...ROLE_URLS[args[0] ?? '']?.(databaseUrl) })
    programs.push(program)
    return program
  }
  t.teardown(() => programs.forEach((program) => program.signal('SIGTERM')))

  const early = runNpm(folder, ['api'], environment)
  t.equal((await early.ended).code, 2, 'without a schema it does not start')
  t.match(early.stderr(), /run `npm run migrate` first/)

  const migrations = [run('migrate'), run('migrate')]
  for (const { ended } of migrations) t.equal((await ended).code, 0, 'two may migrate at once')

  const roles = run('ops', '--', 'roles')
  t.equal((await roles.ended).code, 0, `each program has its role: ${roles.stderr()}`)

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
  // Roles belong to the whole server.
  const made = sql.join(Object.values(ROLES).map((role) => sql.id(role)))
  await sql`drop owned by ${made}; drop role ${made}`.execute(db)
})
