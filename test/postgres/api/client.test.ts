import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { packageVersion } from '../../../shared/version.ts'
import { createClient, getErc20Loan, getFilLoan, getHistoryPage } from '../../../client/index.ts'
import { generateClient } from '../../../client/generate.ts'
import { startApi } from '../../helpers/api-process.ts'
import { testDatabase } from '../../helpers/database.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

t.setTimeout(180_000)

const CLIENT = fileURLToPath(new URL('../../../client/', import.meta.url))
const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
const run = promisify(execFile)

void t.test('the client in the repository is the one of these routes', async (t) => {
  const folder = t.testdir()
  await generateClient(folder, packageVersion())
  for (const name of ['openapi.json', ...(await filesOf(join(folder, 'generated')))]) {
    const [ours, made] = await Promise.all(
      [CLIENT, folder].map((from) => readFile(join(from, name), 'utf8').catch(() => null)),
    )
    t.ok(ours === made, `${name} is up to date: \`npm run client\` writes it`)
  }
})

void t.test('the client asks the service, and has types for answers and errors', async (t) => {
  const { url, db } = await testDatabase(t)
  await ingestStories(db, tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 }))
  await seedNetwork(db)
  const client = createClient({ baseUrl: await startApi(t, { DATABASE_URL: url, API_PORT: '0' }).listening })
  const { data: history } = await getHistoryPage({ client, path: { page: '1' }, throwOnError: true })
  const [record] = history.payload
  if (record === undefined) throw new Error('the history has records')
  const { data: loan } = await getErc20Loan({ client, path: { loanId: record.loanId }, throwOnError: true })
  t.match(loan.payload, { erc20Loan: { id: record.loanId }, filCollateral: {} })
  const { error, response } = await getFilLoan({ client, path: { loanId: record.loanId } })
  t.match([error, response.status], [{ status: 'ERROR', message: String }, 404])
})

const CONSUMER = `import { createClient, getHistoryPage, getStatus, type ActivityRecord } from 'loan-activity-client'

const client = createClient({ baseUrl: process.argv[2] ?? '' })
const { data } = await getHistoryPage({ client, path: { page: '1' }, throwOnError: true })
const newest: ActivityRecord | undefined = data.payload[0]
const status = await getStatus({ client, throwOnError: true })
console.log(JSON.stringify({ pages: data.pages, event: newest?.event, version: status.data.payload.version }))
`

void t.test('a project installs the packed client, compiles against it and runs', async (t) => {
  const { url, db } = await testDatabase(t)
  await ingestStories(db, tellStories(1, 1, { market: 'fil', end: 'repaid', handedIn: 1 }))
  await seedNetwork(db)
  const { listening } = startApi(t, { DATABASE_URL: url, API_PORT: '0' })
  const cwd = t.testdir({
    'package.json': JSON.stringify({ name: 'consumer', private: true, type: 'module' }),
    'consumer.ts': CONSUMER,
    'globals.d.ts': 'declare const process: { argv: string[] }\n',
  })
  const { stdout: packed } = await run('npm', ['pack', CLIENT, '--pack-destination', cwd, '--silent'], {
    cwd,
  })
  const tarball = `./${packed.trim().split('\n').at(-1) ?? ''}`
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd })
  await writeFile(
    join(cwd, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        ...{ target: 'ES2022', module: 'NodeNext', strict: true, exactOptionalPropertyTypes: true },
        ...{ lib: ['ES2022', 'DOM'], types: [], noUncheckedIndexedAccess: true },
      },
      files: ['consumer.ts', 'globals.d.ts'],
    }),
  )
  const compiled = await run(process.execPath, [TSC, '-p', cwd], { cwd }).catch((error: unknown) => error)
  t.match(compiled, { stdout: '' })
  const { stdout } = await run(process.execPath, [join(cwd, 'consumer.js'), await listening], { cwd })
  t.match(JSON.parse(stdout), { pages: 1, event: String, version: packageVersion() })
})

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join('generated', join(entry.parentPath, entry.name).slice(folder.length)))
}
