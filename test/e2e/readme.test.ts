import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import t from 'tap'
import * as z from 'zod'
import { historyAnswer } from '../../api/schemas/activity.ts'
import { accountLoans, lendOrders } from '../../api/schemas/loan-lists.ts'
import { nextAnswer, vouchersAnswer } from '../../api/schemas/loan-next.ts'
import { erc20LoanAnswer } from '../../api/schemas/loan.ts'
import { dailyAnswer } from '../../api/schemas/daily-figures.ts'
import { provenanceAnswer } from '../../api/schemas/provenance.ts'
import { statusAnswer } from '../../api/schemas/status.ts'
import {
  environmentSchema,
  loadEnvironment,
  parseNetworks,
  parseWebhooks,
} from '../../shared/config/config.ts'
import { KINDS_OF_ROLE } from '../../shared/events/chain-event.ts'
import { RECORD_EVENTS } from '../../shared/events/record-events.ts'
import { blocksOf, documents, samplesOf, shortenedOf, variablesOf } from '../helpers/documents.ts'

/** README.md and docs/ promise only what is true: commands are run by tests, files exist, tables are the code's. */

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const exists = (path: string): boolean => existsSync(new URL(path, root))

const START = { file: 'test/e2e/start.test.ts' }
const OPERATORS = { file: 'test/e2e/operators.test.ts' }
const PRODUCTION = { file: 'test/e2e/production.test.ts' }
const VOUCHERS = { file: 'test/queue/ops-vouchers.test.ts' }
const BACKUPS = { file: 'test/e2e/backups.test.ts' }
const CI = { file: '.ci/run' }

/** The file that runs a command, and the text there that runs it. */
const RUN_BY: Record<string, { file: string; proof: RegExp }> = {
  'npm ci && npm start': { ...START, proof: /runNpm\(ROOT, \['start'\]/ },
  'npm test': { ...CI, proof: /^count npm test /m },
  // CI runs its two halves.
  'npm run test:all': { ...CI, proof: /count npm run test:rest /m },
  'curl http://127.0.0.1:3000/api/activity/history/1': { ...START, proof: /samplesOf/ },
  'curl http://127.0.0.1:3000/api/loan/ERC20/1': { ...START, proof: /samplesOf/ },
  'curl http://127.0.0.1:3000/api/status': { ...START, proof: /samplesOf/ },
  // Tests have no container engine: the compose file is checked, and the programs that it starts are run.
  'docker compose up --detach --build': { file: 'test/unit/compose.test.ts', proof: /docker-compose\.yml/ },
  'docker compose run --rm ops status': { file: 'test/unit/compose.test.ts', proof: /service\('ops'\)/ },
  'docker compose --profile webhooks up --detach': {
    file: 'test/unit/compose.test.ts',
    proof: /webhooks: \['webhooks'\]/,
  },
  'node docs/webhook-receiver.mjs': {
    file: 'test/queue/webhook-trial.test.ts',
    proof: /webhook-receiver\.mjs/,
  },
  'WEBHOOKS_FILE=docs/webhooks-trial.json node .config/run.mjs indexer/webhooks/main.ts': {
    file: 'test/queue/webhook-trial.test.ts',
    proof: /webhooks-trial\.json/,
  },
  'npm ci': { ...CI, proof: /^npm ci$/m },
  'npm run build': { ...CI, proof: /^npm run build$/m },
  'npm run migrate': { ...PRODUCTION, proof: /run\('migrate'\)/ },
  'npm run indexer': { ...PRODUCTION, proof: /run\('indexer'\)/ },
  'npm run api': { ...PRODUCTION, proof: /run\('api'\)/ },
  'npm run ops -- roles': { ...PRODUCTION, proof: /run\('ops', '--', 'roles'\)/ },
  'npm run ops -- status': { ...PRODUCTION, proof: /run\('ops', '--', 'status'\)/ },
  'npm run ops -- audit': { ...PRODUCTION, proof: /run\('ops', '--', 'audit'/ },
  'npm run ops -- digest': { ...OPERATORS, proof: /ops\('digest'/ },
  'npm run ops -- replay': { ...OPERATORS, proof: /ops\('replay'/ },
  'npm run ops -- verify --network evm:31337': {
    ...OPERATORS,
    proof: /ops\('verify', '--network', 'evm:31337'\)/,
  },
  'npm run ops -- reindex --network evm:31337 --from 0': {
    ...OPERATORS,
    proof: /ops\('reindex', '--network', 'evm:31337', '--from'/,
  },
  'npm run check': { ...CI, proof: /^npm run check$/m },
  'npm run test:coverage': { file: 'package.json', proof: /"test:coverage": / },
  'npm test -- test/unit': { file: 'test/run.ts', proof: /isFolder/ },
  'npm test -- test/unit/shared/amounts.test.ts': { file: 'test/run.ts', proof: /process\.argv\.slice\(2\)/ },
  'npx tap run test/unit/shared/amounts.test.ts': { file: 'test/run.ts', proof: /'run'/ },
  'npm run ops -- vouchers import vouchers.txt': { ...VOUCHERS, proof: /ops\('vouchers', 'import'/ },
  'npm run ops -- dead-letters list': { ...VOUCHERS, proof: /ops\('dead-letters', 'list'/ },
  'npm run ops -- dead-letters show 1': { ...VOUCHERS, proof: /ops\('dead-letters', 'show'/ },
  'npm run ops -- dead-letters retry all': { ...VOUCHERS, proof: /ops\('dead-letters', 'retry', 'all'/ },
  'npm run ops -- dead-letters drop 1': { ...VOUCHERS, proof: /ops\('dead-letters', 'drop'/ },
  'npm run devnet -- --networks-file networks.json': {
    file: 'test/chain/devnet/devnet-main.test.ts',
    proof: /'--networks-file',/,
  },
  'pg_dump --format=custom --file=loan_activity.dump "$DATABASE_URL"': {
    ...BACKUPS,
    proof: /documented\('pg_dump'\)/,
  },
  'pg_restore --no-privileges --exit-on-error --dbname="$DATABASE_URL" loan_activity.dump': {
    ...BACKUPS,
    proof: /documented\('pg_restore'\)/,
  },
  'pg_basebackup --dbname="$DATABASE_URL" --pgdata=restored --checkpoint=fast --wal-method=stream': {
    ...BACKUPS,
    proof: /documented\('pg_basebackup'\)/,
  },
  'npm run devnet': { file: 'test/chain/devnet/devnet-main.test.ts', proof: /devnet\/main\.ts/ },
}

const commands = [...documents.keys()].flatMap((path) =>
  blocksOf(path)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ lines }) => lines.map((command) => ({ path, command }))),
)

void t.test('every command is run somewhere', (t) => {
  t.ok(commands.length > 15)
  for (const { path, command } of commands) {
    const where = RUN_BY[command]
    if (where === undefined) t.fail(`${path}: no test runs \`${command}\``)
    else t.match(read(where.file), where.proof, `${command}: ${where.file}`)
  }
  const written = new Set(commands.map(({ command }) => command))
  for (const command of Object.keys(RUN_BY)) t.ok(written.has(command), `a page has \`${command}\``)
  t.end()
})

void t.test('the README has the quick start and fits on three screens', (t) => {
  const text = documents.get('README.md') ?? ''
  t.ok(text.split('\n').length <= 151, 'at most 150 lines')
  t.match(text, /^```mermaid$/m)
  for (const path of documents.keys())
    if (path !== 'README.md')
      t.match([...documents.values()].join('\n'), path.split('/').at(-1), `a page names ${path}`)
  t.end()
})

void t.test('every script, file and link that a page names exists', (t) => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(read('package.json')))
  let named = 0
  for (const [path, text] of documents) {
    for (const [, name = ''] of text.matchAll(/npm run ([a-z:-]+[a-z])/g))
      t.ok(scripts[name], `${path}: npm run ${name}`)
    for (const file of filesIn(text)) {
      named += 1
      t.ok(file.includes('*') ? matches(file) : exists(file), `${path}: ${file}`)
    }
    for (const [, target = ''] of text.matchAll(/\]\(((?!https?:)[^)#]+)/g))
      t.ok(exists(join(dirname(path), target)), `${path}: link to ${target}`)
  }
  t.ok(named > 40)
  t.doesNotThrow(() => accessSync(new URL('.ci/run', root), constants.X_OK), '.ci/run can be run')
  t.end()
})

/** Paths in backticks below the folders of the repository. */
function filesIn(text: string): string[] {
  const folders =
    'indexer|api|shared|migrations|test|devnet|bench|deploy|docs|\\.config|\\.ci|\\.github|\\.githooks'
  return [...text.matchAll(new RegExp(`\`((?:${folders})/[\\w./*-]+)\``, 'g'))].map(([, file = '']) => file)
}

/** Whether there is a file of this pattern. */
function matches(pattern: string): boolean {
  const form = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`)
  return allFiles(pattern.split('/')[0] ?? '').some((file) => form.test(file))
}

/** Paths of the files below a folder, from the root. */
function allFiles(folder: string): string[] {
  const names = readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
  return names.map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
}

void t.test('the tables of variables are the configuration’s', (t) => {
  const all = variablesOf('docs/configuration.md')
  t.same([...all.keys()].sort(), Object.keys(environmentSchema.shape).sort())
  const defaults = loadEnvironment({})
  for (const name of Object.keys(defaults)) {
    const text = /^`(.*)`$/.exec(all.get(name)?.[0] ?? '')?.[1]
    t.ok(text !== undefined, `${name} has a default`)
    t.same(loadEnvironment({ [name]: text }), defaults, `the default of ${name}`)
  }
  const first = variablesOf('README.md')
  t.equal(first.size, 5)
  for (const [name, [standard]] of first) t.equal(standard, all.get(name)?.[0], `${name} in the README`)
  t.end()
})

void t.test('the networks file is one', (t) => {
  const text =
    blocksOf('docs/configuration.md')
      .map(({ lines }) => lines.join('\n'))
      .find((block) => block.includes('"rpcUrls"')) ?? ''
  const environment = { RPC_TOKEN: 'token', LOTUS_TOKEN: 'token' }
  const networks = parseNetworks(JSON.parse(text), 'docs/configuration.md', environment)
  t.equal(networks.evm[0]?.rpcUrls[0], 'https://rpc.example.org/v1/token')
  t.match(networks.filecoin, [{ networkId: 'mainnet', token: 'token' }])
  t.end()
})

void t.test('the webhooks file is one', (t) => {
  const [block] = blocksOf('docs/webhooks.md').filter(({ language }) => language === 'json')
  const environment = { BILLING_HOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}` }
  const file = parseWebhooks(JSON.parse(block?.lines.join('\n') ?? ''), 'docs/webhooks.md', environment)
  t.match(file.webhooks, [{ name: 'billing', from: 'now' }])
  t.end()
})

void t.test('the answers are such as the API gives, field by field and in their order', (t) => {
  const schemas: Record<string, z.ZodType> = {
    '/api/activity/history/1': historyAnswer,
    '/api/loan/ERC20/1': erc20LoanAnswer,
    '/api/status': statusAnswer,
  }
  const samples = samplesOf('docs/api.md')
  t.same(
    samples.map(({ path }) => path),
    Object.keys(schemas),
  )
  for (const { path, answer } of samples) {
    t.equal(JSON.stringify(schemas[path]?.parse(answer)), JSON.stringify(answer), path)
  }
  const shortened = samplesOf('README.md')
  t.equal(shortened.length, samples.length)
  for (const { path, answer } of shortened) {
    const whole = samples.find((sample) => sample.path === path)?.answer
    t.ok(isPartOf(answer, whole), `the README’s ${path} leaves out fields and changes none`)
  }
  t.end()
})

void t.test('other answers are whole, or their OpenAPI example with fields left out', (t) => {
  const schemas: Record<string, z.ZodType> = {
    '/api/loan/ERC20/27/next': nextAnswer,
    '/api/loan/ERC20/1/vouchers': vouchersAnswer,
    '/api/orders/lend/closed': lendOrders,
    '/api/loans/account/0xa513E6E4b8f2a923D98304ec87F64353C4D5C853': accountLoans,
    '/api/stats/daily': dailyAnswer,
    '/api/activity/282000000': provenanceAnswer,
  }
  const samples = shortenedOf('docs/api.md')
  t.same(
    samples.map(({ path }) => path),
    Object.keys(schemas),
  )
  for (const { path, answer } of samples) {
    const schema = schemas[path]
    const [example] = (schema?.meta()?.['examples'] ?? []) as unknown[]
    t.ok(schema?.safeParse(answer).success === true || isPartOf(answer, example), path)
  }
  t.end()
})

/** Whether `part` is `whole` with fields left out. */
function isPartOf(part: unknown, whole: unknown): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(whole) && part.every((item, index) => isPartOf(item, whole[index]))
  }
  if (part === null || typeof part !== 'object') return part === whole
  if (whole === null || typeof whole !== 'object') return false
  const fields = Object.entries(part)
  const order = Object.keys(whole).filter((name) => name in part)
  return (
    order.join() === fields.map(([name]) => name).join() &&
    fields.every(([name, value]) => isPartOf(value, (whole as Record<string, unknown>)[name]))
  )
}

void t.test('the events are those that records can have', (t) => {
  const tables = (documents.get('docs/api.md') ?? '').matchAll(
    /^`(ERC20FIL|FILERC20)`, (EVM|FIL):\n\n\| event .*\n.*\n((?:\|.*\n)+)/gm,
  )
  const names = [...tables].map(([, loanType, chain, rows = '']) => ({
    ...{ loanType, chain },
    events: [...rows.matchAll(/^\| `([\w/]+)` \|/gm)].map(([, name = '']) => name),
  }))
  t.equal(names.length, 4)
  t.same(names.flatMap(({ events }) => events).sort(), [...RECORD_EVENTS].sort())
  t.same(
    names.find(({ chain, loanType }) => chain === 'EVM' && loanType === 'ERC20FIL')?.events,
    KINDS_OF_ROLE.erc20Loans,
  )
  t.end()
})

void t.test('each error stands in the source', (t) => {
  const sources = ['shared', 'indexer', 'api', 'devnet']
    .flatMap(allFiles)
    .filter((file) => file.endsWith('.ts'))
    .map(read)
    .join('\n')
  const rows = [...(documents.get('docs/errors.md') ?? '').matchAll(/^\| (`[^|]+`) \|/gm)]
  const texts = rows.flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text))
  t.ok(texts.length > 60)
  for (const text of texts) {
    const parts = text.split('…').map((part) => part.trim())
    const longest = parts.reduce((best, part) => (part.length > best.length ? part : best))
    t.ok(sources.includes(longest), `docs/errors.md: "${longest}" is in the source`)
  }
  t.end()
})
