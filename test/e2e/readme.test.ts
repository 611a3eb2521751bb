import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import * as z from 'zod'
import { historyAnswer } from '../../api/schemas/activity.ts'
import { erc20LoanAnswer } from '../../api/schemas/loan.ts'
import { statusAnswer } from '../../api/schemas/status.ts'
import { environmentSchema, loadEnvironment, parseNetworks } from '../../shared/config/config.ts'
import { readmeBlocks, readmeSamples, readmeVariables } from '../helpers/readme.ts'

/** The README promises only what is tried: each of its commands is run by a test or by .ci/run. */

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

const START = { file: 'test/e2e/start.test.ts' }
const OPERATORS = { file: 'test/e2e/operators.test.ts' }
const PRODUCTION = { file: 'test/e2e/production.test.ts' }
const VOUCHERS = { file: 'test/queue/ops-vouchers.test.ts' }
const CI = { file: '.ci/run' }

/** Where a command is run, and the text there that runs it. */
const RUN_BY: Record<string, { file: string; proof: RegExp }> = {
  'npm ci && npm start': { ...START, proof: /runNpm\(ROOT, \['start'\]/ },
  'npm test': { ...CI, proof: /^npm test/m },
  'curl http://127.0.0.1:3000/api/activity/history/1': { ...START, proof: /readmeSamples/ },
  'curl http://127.0.0.1:3000/api/loan/ERC20/1': { ...START, proof: /readmeSamples/ },
  'curl http://127.0.0.1:3000/api/status': { ...START, proof: /readmeSamples/ },
  // No container engine where tests run: the compose file is checked, and what it runs is run.
  'docker compose up --detach --build': { file: 'test/unit/compose.test.ts', proof: /docker-compose\.yml/ },
  'docker compose run --rm ops status': { file: 'test/unit/compose.test.ts', proof: /service\('ops'\)/ },
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
  'npm test -- test/unit': { file: 'test/run.ts', proof: /isFolder/ },
  'npx tap run test/unit/shared/amounts.test.ts': { file: 'test/run.ts', proof: /'run'/ },
  'npm run ops -- vouchers import vouchers.txt': { ...VOUCHERS, proof: /ops\('vouchers', 'import'/ },
  'npm run ops -- dead-letters list': { ...VOUCHERS, proof: /ops\('dead-letters', 'list'/ },
  'npm run ops -- dead-letters show 1': { ...VOUCHERS, proof: /ops\('dead-letters', 'show'/ },
  'npm run ops -- dead-letters retry all': { ...VOUCHERS, proof: /ops\('dead-letters', 'retry', 'all'/ },
  'npm run ops -- dead-letters drop 1': { ...VOUCHERS, proof: /ops\('dead-letters', 'drop'/ },
  'npm run devnet': { file: 'test/chain/devnet/devnet-main.test.ts', proof: /devnet\/main\.ts/ },
}

const commands = readmeBlocks.filter(({ language }) => language === 'sh').flatMap(({ lines }) => lines)

void t.test('every command is run somewhere', (t) => {
  t.ok(commands.length > 15)
  for (const command of commands) {
    const where = RUN_BY[command]
    if (where === undefined) t.fail(`nobody runs \`${command}\``)
    else t.match(read(where.file), where.proof, `${command}: ${where.file}`)
  }
  for (const command of Object.keys(RUN_BY)) t.ok(commands.includes(command), `the README has \`${command}\``)
  t.end()
})

void t.test('every script and file that it names exists', (t) => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(read('package.json')))
  for (const [, name = ''] of read('README.md').matchAll(/npm run ([a-z:-]+)/g))
    t.ok(scripts[name], `npm run ${name}`)
  const files = [...read('README.md').matchAll(/`((?:indexer|api|\.config|\.ci)\/[\w./-]+)`/g)].map(
    ([, file = '']) => file,
  )
  t.ok(files.length > 8)
  for (const file of files) t.ok(existsSync(new URL(file, root)), file)
  t.doesNotThrow(() => accessSync(new URL('.ci/run', root), constants.X_OK), '.ci/run can be run')
  t.end()
})

void t.test('the table of variables is the configuration’s', (t) => {
  t.same([...readmeVariables.keys()].sort(), Object.keys(environmentSchema.shape).sort())
  const defaults = loadEnvironment({})
  for (const name of Object.keys(defaults)) {
    const text = /^`(.*)`$/.exec(readmeVariables.get(name)?.[0] ?? '')?.[1]
    t.ok(text !== undefined, `${name} has a default`)
    t.same(loadEnvironment({ [name]: text }), defaults, `the default of ${name}`)
  }
  t.end()
})

void t.test('the networks file is one', (t) => {
  const text =
    readmeBlocks.map(({ lines }) => lines.join('\n')).find((block) => block.includes('"rpcUrls"')) ?? ''
  const networks = parseNetworks(JSON.parse(text), 'README.md', { RPC_TOKEN: 'token', LOTUS_TOKEN: 'token' })
  t.equal(networks.evm[0]?.rpcUrls[0], 'https://rpc.example.org/v1/token')
  t.match(networks.filecoin, [{ networkId: 'mainnet', token: 'token' }])
  t.end()
})

void t.test('the answers are such as the API gives, field by field and in their order', (t) => {
  const schemas: Record<string, z.ZodType> = {
    '/api/activity/history/1': historyAnswer,
    '/api/loan/ERC20/1': erc20LoanAnswer,
    '/api/status': statusAnswer,
  }
  t.same(
    readmeSamples.map(({ path }) => path),
    Object.keys(schemas),
  )
  for (const { path, answer } of readmeSamples) {
    t.equal(JSON.stringify(schemas[path]?.parse(answer)), JSON.stringify(answer), path)
  }
  t.end()
})
