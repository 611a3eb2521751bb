import { connect as connectSocket, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { errorAnswer } from '../../../api/schemas/common.ts'
import { testApi } from '../../helpers/api.ts'
import { seedRecords } from '../../helpers/seed-projection.ts'

function envelope(response: LightMyRequestResponse): string {
  return errorAnswer.parse(response.json()).message
}

void t.test('a route that does not exist is 404 in the envelope', async (t) => {
  const { app } = await testApi(t)
  for (const url of [
    '/index.html',
    '/assets',
    '/loan/ERC20/1',
    '/api',
    '/api/nothing',
    '/api/activity/history/1/2',
    '/api/loan/1',
    '/favicon.ico',
  ]) {
    const response = await app.inject(url)
    t.equal(response.statusCode, 404, url)
    const named = /routes begin with \/api\/activity, \/api\/loan, .*\/api\/loans, .*\/api\/status/
    t.match(envelope(response), named, 'and says which do')
  }
})

void t.test('a parameter that a route does not know is 400, and not left out', async (t) => {
  const { app } = await testApi(t)
  for (const [url, message] of [
    ['/api/activity/history?page=2', 'there is no parameter "page" here'],
    ['/api/activity/history/1?limit=5', 'there is no parameter "limit" here'],
    ['/api/loan/ERC20/1/next?asOf=5', 'there is no parameter "asOf" here'],
    ['/api/loan/FIL/1?a&b=%00', 'there is no parameter "a" here'],
    ['/api/status?network=evm:1', 'there is no parameter "network" here'],
    [`/api/status?${'x'.repeat(8_000)}`, `there is no parameter "${'x'.repeat(100)}" here`],
  ] as const) {
    const response = await app.inject(url)
    t.equal(response.statusCode, 400, url)
    t.equal(envelope(response), message)
  }
  for (const url of ['/api/activity/history?', '/api/status?', '/healthz?a=1']) {
    t.equal((await app.inject(url)).statusCode, 200, url)
  }
})

void t.test('one mistake has one wording, whatever route it is made in', async (t) => {
  const { app } = await testApi(t)
  const said = async (url: string): Promise<string> => envelope(await app.inject(url))
  for (const loanId of ['abc', '1.5', '-1', '1e3', '9'.repeat(79)]) {
    const message = await said(`/api/loan/ERC20/${loanId}`)
    t.match(message, /^loanId /)
    t.equal(await said(`/api/loan/FIL/${loanId}`), message)
    t.equal(await said(`/api/activity?loanId=${loanId}`), message)
  }
  for (const page of ['0', '-1', 'x', '1.5', '01'])
    t.equal(await said(`/api/activity/history/${page}`), 'page must be a positive integer')
  for (const url of ['/api/activity', '/api/activity/history', '/api/loan/FIL/1', '/api/status'])
    t.equal(await said(`${url}?nope=1`), 'there is no parameter "nope" here')
})

void t.test('a trailing slash is the same route, for HEAD too', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 60)
  for (const url of [
    '/api/activity/history',
    '/api/activity/history/2',
    '/api/activity',
    '/api/status',
    '/api/loan/ERC20/5',
    '/healthz',
  ]) {
    const [plain, slash, head] = await Promise.all([
      app.inject(url),
      app.inject(`${url}/`),
      app.inject({ method: 'HEAD', url: `${url}/` }),
    ])
    t.equal(slash.statusCode, plain.statusCode, url)
    t.equal(slash.body, plain.body, url)
    t.match(head, { statusCode: plain.statusCode, body: '' }, url)
    t.equal(head.headers['content-length'], plain.headers['content-length'], url)
  }
  t.equal((await app.inject('/api/activity/?limit=1')).json<{ payload: [] }>().payload.length, 1)
})

void t.test('any other method is 405 and says what is allowed', async (t) => {
  const { app } = await testApi(t)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    for (const url of ['/api/activity/history', '/api/nothing']) {
      const body = { method, url, payload: '{not json', headers: { 'content-type': 'application/json' } }
      const response = await app.inject(body)
      t.equal(response.statusCode, 405, `${method} ${url}`)
      t.equal(response.headers.allow, 'GET, HEAD, OPTIONS')
      t.equal(response.headers['access-control-allow-origin'], '*')
      t.match(envelope(response), method)
    }
  }
})

void t.test('every answer may be read from every origin, errors too', async (t) => {
  const { app } = await testApi(t)
  const headers = { origin: 'https://dapp.example' }
  for (const [url, code] of [
    ['/api/activity/history', 200],
    ['/api/activity/history/0', 400],
    ['/api/loan/FIL/1', 404],
    ['/api/nothing', 404],
    ['/%', 400],
    ['/api/loan/FIL/%zz', 400],
    ['/api/activity/history/%E0%A4%A', 400],
  ] as const) {
    const response = await app.inject({ url, headers })
    t.equal(response.statusCode, code, url)
    t.equal(response.headers['access-control-allow-origin'], '*', url)
    // What is no URL of ours has neither.
    if (!url.includes('%'))
      t.match(response.headers['access-control-expose-headers'], /^ETag, Retry-After, RateLimit-Limit, /, url)
    if (code !== 200) t.ok(envelope(response))
  }
  const preflight = await app.inject({
    method: 'OPTIONS',
    url: '/api/activity/history',
    headers: { ...headers, 'access-control-request-method': 'GET' },
  })
  t.equal(preflight.statusCode, 204)
  t.match(preflight.headers['access-control-allow-methods'], 'GET')
  t.equal((await app.inject({ method: 'OPTIONS', url: '/api/status' })).statusCode, 204)
})

void t.test('HEAD answers as GET, without the body', async (t) => {
  const { app } = await testApi(t)
  const get = await app.inject('/api/activity/history')
  const head = await app.inject({ method: 'HEAD', url: '/api/activity/history' })
  t.equal(head.statusCode, 200)
  t.equal(head.body, '')
  t.equal(head.headers['content-length'], get.headers['content-length'])
})

void t.test('a failure of ours shows nothing of the inside; a refusal keeps its code', async (t) => {
  // The route below is not in the OpenAPI document.
  const { app, db } = await testApi(t, { asDocumented: false })
  app.get('/test/busy', () => Promise.reject(Object.assign(new Error('slow down'), { statusCode: 429 })))
  await db.schema.dropTable('projection.loans').execute()
  const broken = await app.inject('/api/loan/ERC20/1')
  t.equal(broken.statusCode, 500)
  t.equal(envelope(broken), 'internal error')
  const busy = await app.inject('/test/busy')
  t.equal(busy.statusCode, 429)
  t.equal(envelope(busy), 'slow down')
})

void t.test('what is not HTTP gets the envelope, too', async (t) => {
  const { app } = await testApi(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const say = async (words: string): Promise<string> => {
    const socket = connectSocket({ port, host: '127.0.0.1' })
    socket.end(words)
    return text(socket)
  }
  t.match(await say('nonsense\r\n\r\n'), /^HTTP\/1\.1 400 [^]*\{"status":"ERROR","message":".+"\}$/)
  const large = `GET / HTTP/1.1\r\nhost: x\r\nlarge: ${'x'.repeat(20_000)}\r\n\r\n`
  t.match(await say(large), /^HTTP\/1\.1 431 [^]*\{"status":"ERROR","message":".+"\}$/)
})
