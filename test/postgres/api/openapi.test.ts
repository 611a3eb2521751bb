import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startApi } from '../../helpers/api-process.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { judgeBy, type OpenapiDocument } from '../../helpers/documented-answers.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

const REDOCLY = new URL('../../../node_modules/@redocly/cli/bin/cli.js', import.meta.url).pathname

/** Its answer is text that does not end: activity-stream.test.ts reads it. */
const STREAM = '/api/activity/stream'

/** Rules that are not errors by themselves. Each would hide a mistake here. */
const RULES = `extends: [recommended-strict]
rules:
  # Liveness has no parameter that could be wrong.
  operation-4xx-response: off
  parameter-description: error
  no-invalid-media-type-examples: error
  no-invalid-schema-examples: error
  no-invalid-parameter-examples: error
  operation-description: off
`

async function documentOf({ app }: TestApi): Promise<OpenapiDocument> {
  return (await app.inject('/openapi.json')).json<OpenapiDocument>()
}

void t.test('the document has no mistake that its linter knows', async (t) => {
  const api = await testApi(t)
  const folder = t.testdir({ 'redocly.yaml': RULES })
  const file = join(folder, 'openapi.json')
  await writeFile(file, (await api.app.inject('/openapi.json')).body)
  const args = [REDOCLY, 'lint', file, '--config', join(folder, 'redocly.yaml'), '--format', 'stylish']
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const lint = await promisify(execFile)(process.execPath, args, { env, cwd: folder }).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  )
  t.match(lint.stderr + lint.stdout, /Your API description is valid/)
  t.notMatch(lint.stderr + lint.stdout, /You have \d+ warning/)
})

void t.test('every parameter has a description and an example, every answer an example', async (t) => {
  const { paths, components } = await documentOf(await testApi(t))
  t.ok(Object.keys(paths).length > 5)
  for (const [path, { get }] of Object.entries(paths)) {
    for (const parameter of get.parameters ?? []) {
      t.match(parameter, { description: /\w/ }, `${path} ${parameter.name}`)
      t.ok(parameter.example !== undefined, `${path} ${parameter.name}`)
    }
    for (const [code, answer] of Object.entries(get.responses)) {
      if (code === '304') continue
      if (path === STREAM && code === '200') continue
      t.match(answer, { content: { 'application/json': { example: Object } } }, `${path} ${code}`)
    }
  }
  for (const name of Object.keys(components.schemas)) t.match(name, /^[A-Z]\w+$/, 'a name that was given')
})

void t.test('the documented examples are answered as they are documented', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 }))
  const other = await testApi(t)
  await ingestStories(other.db, tellStories(1, 1, { market: 'fil', end: 'repaid', handedIn: 1 }))
  for (const { db } of [api, other]) await seedNetwork(db)
  const document = await documentOf(api)
  const judge = judgeBy(document)
  let asked = 0
  for (const [path, { get }] of Object.entries(document.paths)) {
    if (path === STREAM) continue
    const { parameters = [] } = get
    const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(parameters.find((one) => one.name === name)?.example)),
    )
    const queries = parameters
      .filter((one) => one.in === 'query')
      .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
    for (const query of ['', ...queries]) {
      const asIs = query === '' ? url : `${url}?${query}`
      const answers = await Promise.all([api, other].map(({ app }) => app.inject(asIs)))
      // A loan of one market is in one of them.
      const [answer] = answers.filter(({ statusCode }) => statusCode === 200)
      t.ok(answer, `${asIs}: ${answers.map(({ body }) => body.slice(0, 100)).join()}`)
      if (answer !== undefined) t.equal(judge(asIs, answer), null)
      asked += 1
    }
  }
  t.ok(asked > 10, `${asked} examples`)
})

void t.test('an answer that is not as documented is noticed', async (t) => {
  const api = await testApi(t)
  const judge = judgeBy(await documentOf(api))
  const answer = await api.app.inject('/api/activity/history')
  t.equal(judge('/api/activity/history', answer), null)
  t.match(judge('/api/status', answer), /must have required property|must NOT have additional/)
  t.match(judge('/healthz', await api.app.inject('/api/activity?limit=0')), '/healthz has no answer 400')
})

void t.test(
  'the page and all its files are served by the bundled program, under a policy of their own',
  async (t) => {
    const { url } = await testDatabase(t)
    const address = await startApi(t, { DATABASE_URL: url, API_PORT: '0' }).listening
    const get = (path: string, method = 'GET') => fetch(`${address}${path}`, { method })
    const page = await get('/docs')
    const html = await page.text()
    t.match(page.headers.get('content-security-policy'), /^default-src 'none'; script-src 'self';/)
    const files = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file = '']) => file)
    t.ok(files.length >= 6)
    for (const file of files) {
      const response = await get(file)
      t.equal(response.status, 200, file)
      t.ok((await response.arrayBuffer()).byteLength > 0, file)
      t.equal((await get(file, 'HEAD')).status, 200, file)
    }
    const [own, itsOwn] = await Promise.all(['/openapi.json', '/docs/json'].map((path) => get(path)))
    t.strictSame(await own?.json(), await itsOwn?.json())
    t.equal((await get('/docs/static/nothing')).status, 404)
    const other = await get('/api/activity/history')
    t.equal(other.headers.get('content-security-policy'), "default-src 'none';frame-ancestors 'none'")
    t.match(await (await get('/docs/static/swagger-initializer.js')).text(), /validatorUrl: null/)
  },
)
