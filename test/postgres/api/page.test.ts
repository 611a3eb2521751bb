import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { testApi } from '../../helpers/api.ts'
import { builtPage } from '../../helpers/page-build.ts'

/** Bytes of everything that a browser may load, compressed by gzip. */
const MOST_BYTES = 60_000

const folder = builtPage()
const assets = readdirSync(fileURLToPath(new URL('assets', folder))).map((name) => `/assets/${name}`)

void t.test('the page is served at / with a policy under which nothing but its own files runs', async (t) => {
  const { app } = await testApi(t, { pageFolder: folder })
  const page = await app.inject('/')
  t.equal(page.statusCode, 200)
  t.match(page.headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  })
  t.notMatch(page.body, /<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+=/, 'no inline script or style')
  const named = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
  const own = named.filter((address) => !address.startsWith('data:'))
  t.ok(own.length >= 2, own.join(' '))
  for (const address of own) {
    t.match(address, /^\.\/assets\//, 'nothing from elsewhere')
    t.equal((await app.inject(new URL(address, 'http://page/').pathname)).statusCode, 200, address)
  }
})

void t.test('an unchanged page is 304, and assets are kept for ever', async (t) => {
  const { app } = await testApi(t, { pageFolder: folder })
  for (const url of ['/', ...assets]) {
    const full = await app.inject({ url, headers: { 'accept-encoding': 'gzip' } })
    t.equal(full.statusCode, 200, url)
    if (url !== '/') t.equal(full.headers['cache-control'], 'public, max-age=31536000, immutable')
    const again = await app.inject({ url, headers: { 'if-none-match': String(full.headers.etag) } })
    t.equal(again.statusCode, 304)
    t.equal(again.body, '')
    const head = await app.inject({ url, method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })
    t.match(head.headers, { etag: full.headers.etag, 'content-length': full.headers['content-length'] })
    t.equal(head.body, '')
    const size = readFileSync(new URL(`.${url === '/' ? '/index.html' : url}`, folder)).length
    if (size < 1024) continue
    t.match(full.headers, { 'content-encoding': 'gzip', vary: /accept-encoding/ })
    t.equal(gunzipSync(full.rawPayload).length, size)
  }
})

void t.test('an unknown path stays the 404 of the API', async (t) => {
  const { app } = await testApi(t, { pageFolder: folder })
  for (const url of ['/index.html', '/assets/', '/assets/none.js', '/loan/ERC20/1', '/sources.txt']) {
    const answer = await app.inject(url)
    t.equal(answer.statusCode, 404, url)
    t.match(answer.json(), { status: 'ERROR', message: /there is no such route/ })
  }
  t.equal((await app.inject({ url: '/', method: 'POST' })).statusCode, 405)
})

void t.test('all of the page together is small', (t) => {
  const files = ['index.html', ...assets.map((name) => name.slice(1))]
  const bytes = files.map((name) => gzipSync(readFileSync(new URL(name, folder))).length)
  const sum = bytes.reduce((total, size) => total + size, 0)
  t.comment(files.map((name, index) => `${name} ${bytes[index] ?? 0}`).join('\n'))
  t.ok(sum <= MOST_BYTES, `${sum} bytes of ${MOST_BYTES}`)
  t.end()
})
