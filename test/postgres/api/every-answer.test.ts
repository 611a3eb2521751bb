import { sql } from 'kysely'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { testApi, type TestApi } from '../../helpers/api.ts'
import type { OpenapiDocument } from '../../helpers/documented-answers.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

/**
 * Every status that the OpenAPI document has for a route is provoked there, so that a new route or status fails here until
 * somebody knows how. The helper compares each answer with the document. openapi.test.ts has the answers with 200.
 */

type Operation = OpenapiDocument['paths'][string]['get']
interface Route {
  path: string
  get: Operation
}

interface Grounds {
  /** Loans of both markets. */
  loans: TestApi[]
  away: TestApi
  broken: TestApi
  limited: TestApi
}

const ask = async ({ app }: TestApi, request: InjectOptions | string): Promise<LightMyRequestResponse> =>
  app.inject(request)

/** The route's own example, or the same with other values for parts of its path. */
function urlOf({ path, get }: Route, values: Record<string, string> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const example = get.parameters?.find((one) => one.name === name)?.example
    return encodeURIComponent(values[name] ?? String(example))
  })
}

/** What finds nothing: a moment that never was, or a number that nothing has. */
function urlOfNothing(route: Route): string {
  const takesMoment = route.get.parameters?.some(({ name }) => name === 'asOf') === true
  return takesMoment
    ? `${urlOf(route)}?asOf=999999999`
    : urlOf(route, { id: '999999999', loanId: '999999999' })
}

const PROVOCATIONS: Record<string, (route: Route, grounds: Grounds) => Promise<LightMyRequestResponse>> = {
  304: async (route, { loans }) => {
    const answers = await Promise.all(
      loans.map(async (api) => {
        const { headers } = await ask(api, urlOf(route))
        return ask(api, { url: urlOf(route), headers: { 'if-none-match': String(headers.etag) } })
      }),
    )
    // A loan of one market is in one of them.
    const answer = answers.find(({ statusCode }) => statusCode !== 404)
    if (answer === undefined) throw new Error(`${route.path} finds nothing`)
    return answer
  },
  400: (route, { away }) => ask(away, `${urlOf(route)}?unknown=1`),
  404: (route, { loans: [first] }) => ask(first as TestApi, urlOfNothing(route)),
  429: (route, { limited }) => ask(limited, urlOf(route)),
  500: (route, { broken }) => ask(broken, urlOf(route)),
  503: (route, { away }) => ask(away, urlOf(route)),
}

async function grounds(t: Test): Promise<Grounds> {
  const loans = [await testApi(t), await testApi(t)]
  for (const [index, market] of (['erc20', 'fil'] as const).entries()) {
    const { db } = loans[index] as TestApi
    await ingestStories(db, tellStories(1, 1, { market, end: 'repaid', handedIn: 1 }))
    await seedNetwork(db)
  }
  const away = await testApi(t, { url: 'postgres://nobody@127.0.0.1:1/nothing' })
  const broken = await testApi(t)
  await sql`drop schema projection cascade`.execute(broken.db)
  await sql`drop schema ledger cascade`.execute(broken.db)
  const limited = await testApi(t, { settings: { API_RATE_LIMIT: { requests: 1, windowMs: 3_600_000 } } })
  await ask(limited, '/api/status')
  return { loans, away, broken, limited }
}

void t.test('every documented status of every route but 200 is provoked', async (t) => {
  const given = await grounds(t)
  const { paths } = (await ask(given.loans[0] as TestApi, '/openapi.json')).json<OpenapiDocument>()
  let provoked = 0
  for (const [path, { get }] of Object.entries(paths)) {
    for (const code of Object.keys(get.responses).filter((one) => one !== '200')) {
      const provoke = PROVOCATIONS[code]
      if (provoke === undefined) {
        t.fail(`${path} ${code}: nothing provokes it`)
        continue
      }
      const answer = await provoke({ path, get }, given)
      t.equal(answer.statusCode, Number(code), `${path} ${code}: ${answer.body.slice(0, 200)}`)
      provoked += 1
    }
  }
  t.ok(provoked > 80, `${provoked} answers`)
})
