import t from 'tap'
import { testApi } from '../../helpers/api.ts'

void t.test('each answer says what a browser may do with it', async (t) => {
  const { app } = await testApi(t)
  for (const url of ['/api/activity', '/api/nothing', '/api/activity/history/0', '/healthz', '/nothing']) {
    const { headers } = await app.inject(url)
    t.equal(headers['content-security-policy'], "default-src 'none';frame-ancestors 'none'", url)
    t.equal(headers['x-content-type-options'], 'nosniff', url)
    t.equal(headers['strict-transport-security'], undefined, url)
    t.equal(headers['x-powered-by'], undefined, url)
    const policy = url.startsWith('/api') ? 'cross-origin' : 'same-origin'
    t.equal(headers['cross-origin-resource-policy'], policy, url)
  }
})

void t.test('API_CORS_ORIGINS names whose pages may read answers, errors too', async (t) => {
  const { app } = await testApi(t, {
    settings: { API_CORS_ORIGINS: ['https://dapp.example', 'https://b.example'] },
  })
  for (const [origin, allowed] of [
    ['https://dapp.example', 'https://dapp.example'],
    ['https://b.example', 'https://b.example'],
    ['https://dapp.example.evil.example', undefined],
    ['http://dapp.example', undefined],
    ['null', undefined],
  ] as const) {
    for (const url of ['/api/activity', '/api/nothing', '/%']) {
      const { headers } = await app.inject({ url, headers: { origin } })
      t.equal(headers['access-control-allow-origin'], allowed, `${origin} ${url}`)
      if (allowed !== undefined) t.match(headers.vary, /Origin/)
    }
    const preflight = {
      method: 'OPTIONS',
      url: '/api/activity',
      headers: { origin, 'access-control-request-method': 'GET' },
    } as const
    t.equal((await app.inject(preflight)).headers['access-control-allow-origin'], allowed)
  }
})
