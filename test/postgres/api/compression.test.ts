import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { testApi } from '../../helpers/api.ts'
import { seedRecords } from '../../helpers/seed-projection.ts'

const DECODERS = { br: brotliDecompressSync, gzip: gunzipSync }

void t.test('an answer above 1 kB is compressed as the client asks, and says the same', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 400)
  for (const url of ['/api/activity/history', '/api/activity?limit=200', '/api/activity?limit=25']) {
    const plain = await app.inject(url)
    t.equal(plain.headers['content-encoding'], undefined)
    t.match(plain.headers.vary, /accept-encoding/, 'also where it is not compressed')
    for (const encoding of ['br', 'gzip'] as const) {
      // The second time a kept answer is compressed already.
      for (const time of [1, 2]) {
        const what = `${url} ${encoding} ${time}`
        const headers = { 'accept-encoding': encoding }
        const response = await app.inject({ url, headers })
        t.equal(response.headers['content-encoding'], encoding, what)
        t.match(response.headers.vary, /accept-encoding/, what)
        t.equal(DECODERS[encoding](response.rawPayload).toString(), plain.body, what)
        t.ok(
          response.rawPayload.length < plain.rawPayload.length / 3,
          `${what}: ${response.rawPayload.length} bytes`,
        )
        const head = await app.inject({ method: 'HEAD', url, headers })
        t.equal(head.body, '')
        t.equal(head.headers['content-encoding'], encoding, what)
        t.equal(head.headers['content-length'], response.headers['content-length'], what)
      }
    }
  }
  const preferred = await app.inject({
    url: '/api/activity?limit=25',
    headers: { 'accept-encoding': 'gzip, deflate, br' },
  })
  t.equal(preferred.headers['content-encoding'], 'br')
})

void t.test('what is short, or asked for as it is, is not compressed', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 400)
  for (const [url, encoding] of [
    ['/healthz', 'br'],
    ['/api/loan/FIL/7', 'gzip'],
    ['/api/activity?limit=1', 'br'],
    ['/api/activity?limit=25', 'identity'],
    ['/api/activity?limit=25', 'zstd'],
    ['/api/activity?limit=25', 'br;q=0'],
  ] as const) {
    const response = await app.inject({ url, headers: { 'accept-encoding': encoding } })
    t.equal(response.headers['content-encoding'], undefined, `${url} ${encoding}`)
    t.match(response.headers.vary, /accept-encoding/, url)
  }
})

void t.test('an ETag is known in whatever encoding it came', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 400)
  const url = '/api/activity/history/2'
  const tags = new Set<string>()
  for (const encoding of ['br', 'gzip', 'identity']) {
    const { headers } = await app.inject({ url, headers: { 'accept-encoding': encoding } })
    tags.add(String(headers.etag))
  }
  t.equal(tags.size, 1)
  const [etag = ''] = tags
  t.match(etag, /^W\//, 'weak: the bytes differ')
  for (const encoding of ['br', 'gzip', 'identity']) {
    const headers = { 'accept-encoding': encoding, 'if-none-match': etag }
    const response = await app.inject({ url, headers })
    t.match(response, { statusCode: 304, body: '' }, encoding)
    t.match(response.headers.vary, /accept-encoding/)
    t.equal(response.headers['content-encoding'], undefined)
  }
})
