import { pino } from 'pino'
import t from 'tap'
import { testApi } from '../../helpers/api.ts'

const ACCOUNT = '0x00000000000000000000000000000000000000aa'
const CLIENT = '203.0.113.9'

function collectedLog(): { log: pino.Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = []
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>)
  return { log: pino({ level: 'info' }, { write }), lines }
}

void t.test('each request has its line, which says nothing about the client', async (t) => {
  const { log, lines } = collectedLog()
  const { app } = await testApi(t, { log, settings: { API_REQUEST_LOG: 'all' } })
  lines.length = 0
  for (const url of [
    `/api/activity?account=${ACCOUNT}`,
    `/api/loans/account/${ACCOUNT}`,
    '/api/activity/history/x',
    '/secret/path',
  ])
    await app.inject({
      url,
      remoteAddress: CLIENT,
      headers: { 'x-forwarded-for': CLIENT, 'user-agent': 'me/1' },
    })
  const requests = lines.filter(({ msg }) => msg === 'request')
  t.same(
    requests.map(({ method, route, status }) => [method, route, status]),
    [
      ['GET', '/api/activity', 200],
      ['GET', '/api/loans/account/:account', 200],
      ['GET', '/api/activity/history/:page', 400],
      ['GET', 'unknown', 404],
    ],
  )
  t.equal(new Set(requests.map(({ id }) => id)).size, 4, 'an id each')
  for (const { ms } of requests) t.ok(typeof ms === 'number' && ms >= 0)
  t.notMatch(JSON.stringify(lines), new RegExp(`${ACCOUNT}|${CLIENT}|secret|me/1`))
})

void t.test('failed requests are summed up, also while the database is away', async (t) => {
  const { log, lines } = collectedLog()
  const url = 'postgres://a:b@127.0.0.1:1/nothing'
  const { app } = await testApi(t, { log, url, settings: { API_REQUEST_LOG: 'errors' } })
  lines.length = 0
  for (let times = 0; times < 30; times += 1)
    t.equal((await app.inject(`/api/activity?account=${ACCOUNT}`)).statusCode, 503)
  t.equal((await app.inject('/nothing')).statusCode, 404)
  t.match(lines[0], { msg: /^the database is away: / })
  t.match(lines[1], { msg: 'request', method: 'GET', route: '/api/activity', status: 503 })
  t.ok(lines.length <= 4, `${lines.length} lines`)
})
