import { sql } from 'kysely'
import t from 'tap'
import { EVM, FILECOIN, ingestLedger, ingestStories } from '../helpers/ingest-ledger.ts'
import { pageApi, pageViewer, until } from '../helpers/page.ts'
import { eventually } from '../helpers/programs.ts'
import { seedNetwork, seedRecords } from '../helpers/seed-projection.ts'
import { tellStories } from '../helpers/two-chain-stories.ts'

/** The page on hostile data, and while the API is away, slow or behind. */

const MARKUP = '<img src=x onerror=alert(1)>'

/** Elements that nothing but markup from outside can have made, and targets that no link may have. */
const STRANGE = `[
  ...document.querySelectorAll('img, script:not([src]), iframe, object, embed, style'),
  ...[...document.querySelectorAll('a')].filter((link) => !/^(#|api\\/activity\\/\\d+$|https:\\/\\/explorer\\.example\\/)/.test(link.getAttribute('href'))),
].map((element) => element.outerHTML)`

void t.test('nothing from a chain, an address or the configuration becomes markup or a link', async (t) => {
  const stories = tellStories(1, 4)
  const { api, db } = await pageApi(t, async (db) => {
    await ingestLedger(db, { ...EVM, blockchain: MARKUP }, stories.evm)
    await ingestStories(db, { ...stories, evm: [] })
    await seedNetwork(db, { problem: MARKUP, state: 'stopped' })
  })
  await sql`update ledger.tokens set symbol = ${MARKUP}`.execute(db)
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const encoded = encodeURIComponent(MARKUP)
  for (const explorer of [
    {
      transaction: 'javascript:alert(1)//{transaction}',
      address: `https://explorer.example/${MARKUP}{address}`,
    },
    { transaction: 'https://explorer.example/tx/{transaction}', address: 'data:text/html,{address}' },
  ]) {
    await sql`update ledger.network_status set explorer = ${JSON.stringify(explorer)}`.execute(db)
    for (const hash of [
      '#/',
      '#/orders?state=closed',
      '#/orders?side=borrow&state=closed',
      `#/search?q=${encoded}`,
      `#/search?q=javascript:alert(1)`,
      `#/?account=${encoded}`,
      `#/?event=${encoded}`,
      `#/loan/${encoded}/${encoded}`,
      `#/account/${encoded}`,
      `#/${encoded}?${encoded}`,
      `#/loan/ERC20/1?asOf=${encoded}`,
    ]) {
      const page = await viewer.open(hash)
      await until(page, "document.querySelector('.news p') !== null")
      t.same(await page.evaluate(STRANGE), [], hash)
      await page.close()
    }
  }
  const page = await viewer.open('#/?networkId=31337')
  await page.waitForSelector('tbody tr')
  t.match(await page.textContent('tbody'), MARKUP.slice(0, 12), 'it is text')
  const orders = await viewer.open('#/orders?state=closed')
  await until(orders, `document.querySelector('tbody').textContent.includes('${MARKUP.slice(0, 11)}')`)
  const link = page.locator('tbody a[href^="https://explorer.example/tx/0x"]').first()
  await link.waitFor()
  t.match(await link.getAttribute('rel'), /noopener/)
})

void t.test('the page says that the API is away, keeps what it has, and recovers', async (t) => {
  const { api } = await pageApi(t, (db) => ingestStories(db, tellStories(1, 3)))
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/')
  await page.waitForSelector('tbody tr')
  await page.context().setOffline(true)
  await until(page, "document.querySelector('.news').textContent.includes('The API is away')")
  t.ok((await page.locator('tbody tr').count()) > 0, 'records stay')
  await page.evaluate("location.hash = '#/?event=CreateLoanOffer'")
  await page.getByRole('alert').waitFor()
  t.match(await page.getByRole('alert').textContent(), /The API is away.*keeps asking/)
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Ask now' }).click()
  await page.waitForSelector('tbody tr')
  await until(page, "!document.querySelector('.news').textContent.includes('away')")
})

void t.test('an answer stays while the API is busy, and is said to be old', async (t) => {
  const { api } = await pageApi(t, (db) => ingestStories(db, tellStories(1, 3)))
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/orders?state=closed')
  await page.waitForSelector('tbody tr')
  const refused = /\/api\/(orders|status)/
  await page.route(refused, (route) =>
    route.fulfill({ status: 503, json: { status: 'ERROR', message: 'the API is overloaded' } }),
  )
  const told = "document.querySelector('main [role=status]')?.textContent"
  await until(page, `${told} === 'This may be old: the API is overloaded'`)
  t.ok((await page.locator('tbody tr').count()) > 0, 'the orders stay')
  await page.evaluate("location.hash = '#/status'")
  await until(page, "document.querySelector('.lead')?.textContent === 'Not known.'")
  await page.unroute(refused)
  await until(page, "document.querySelector('.lead').textContent !== 'Not known.'")
})

void t.test('a stream that was refused goes on from its last event', async (t) => {
  const { api } = await pageApi(t, (db) => ingestStories(db, tellStories(1, 3)))
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/tour')
  const asked: string[] = []
  await page.route('**/api/activity/stream*', async (route) => {
    asked.push(new URL(route.request().url()).search)
    const body = 'retry: 10\nid: 7\nevent: changed\ndata: {"id":1}\n\n'
    if (asked.length === 1) await route.fulfill({ contentType: 'text/event-stream', body })
    else if (asked.length === 2) await route.fulfill({ status: 503, body: '' })
    else await route.continue()
  })
  await page.evaluate("location.hash = '#/'")
  await eventually('the stream is asked for again', () => Promise.resolve(asked.length >= 3))
  t.same(asked.slice(0, 3), ['', '', '?lastEventId=7'])
})

void t.test('a stream that was refused before its first event has the page asked again', async (t) => {
  const { api } = await pageApi(t, (db) => ingestStories(db, tellStories(1, 3)))
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/tour')
  const pages: string[] = []
  page.on('request', (request) => {
    if (/\/api\/activity(\?(?!.*after=).*)?$/.test(request.url())) pages.push(request.url())
  })
  await page.route('**/api/activity/stream*', (route) => route.fulfill({ status: 503, body: '' }), {
    times: 1,
  })
  await page.evaluate("location.hash = '#/'")
  await page.waitForSelector('tbody tr')
  const before = pages.length
  await eventually('the first page is asked for again', () => Promise.resolve(pages.length > before))
})

void t.test('records come to a page that began empty', async (t) => {
  const { api, db } = await pageApi(t, () => Promise.resolve())
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/')
  await until(page, "document.querySelector('main').textContent.includes('Nothing has been indexed yet')")
  await ingestStories(db, tellStories(1, 3))
  await page.getByRole('button', { name: /\d+ new$/ }).click()
  await page.waitForSelector('tbody tr')
})

void t.test('a slow API shows what is loading and that it is slow', async (t) => {
  const { api } = await pageApi(t, (db) => ingestStories(db, tellStories(1, 3)))
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('')
  let answer = (): void => undefined
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/api/activity?*', async (route) => {
    await held
    await route.continue()
  })
  await page.evaluate("location.hash = '#/?event=CreateLoanOffer'")
  await until(page, "document.querySelector('main').textContent.includes('Loading the records')")
  await until(page, "document.querySelector('.news').textContent.includes('The API is slow')")
  answer()
  await page.waitForSelector('tbody tr')
  await until(page, "!document.querySelector('.news').textContent.includes('slow')")
})

void t.test('an index that is behind is said plainly', async (t) => {
  const { api } = await pageApi(t, async (db) => {
    await seedNetwork(db, { head: 5000, indexed: 100, indexedAgeS: 7200 })
  })
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/')
  await until(page, "document.querySelector('.news').textContent !== ''")
  t.match(await page.textContent('.news'), /evm:31337 is behind by 4,900 blocks \(1 h 59 min\)/)
  t.match(await page.textContent('main'), /No records.*appear here by themselves/)
})

void t.test('a million records cost a page no more than a few', async (t) => {
  const { api } = await pageApi(t, async (db) => {
    await seedRecords(db, 1_000_000)
    await seedNetwork(db)
  })
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/?before=1500000000000')
  await page.waitForSelector('tbody tr')
  t.equal(await page.locator('tbody tr').count(), 25)
  await until(page, "document.querySelector('.heading').textContent.includes('1,000,000 records')")
})

void t.test('a page that nobody touches stays small while records stream in', async (t) => {
  const stories = tellStories(7, 120)
  const { api, db } = await pageApi(t, (db) => ingestLedger(db, EVM, stories.evm))
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/')
  await page.waitForSelector('tbody tr')
  const devtools = await page.context().newCDPSession(page)
  const heapBytes = async (): Promise<number> => {
    await devtools.send('HeapProfiler.collectGarbage')
    return (await devtools.send('Runtime.getHeapUsage')).usedSize
  }
  const before = await heapBytes()
  await ingestLedger(db, FILECOIN, stories.filecoin)
  await page.getByRole('button', { name: '200+ new' }).waitFor()
  t.equal(await page.locator('tbody tr').count(), 25, 'nothing is shown unasked')
  const grown = (await heapBytes()) - before
  t.comment(`${grown} bytes for ${stories.filecoin.length} events`)
  t.ok(grown < 4 * 1024 * 1024, `${grown} bytes more`)
  await page.getByRole('button', { name: '200+ new' }).click()
  await until(page, "document.querySelectorAll('tbody tr').length === 100")
})

void t.test('an answer without sense breaks one view, and not the page', async (t) => {
  const { api } = await pageApi(t, (db) => ingestStories(db, tellStories(1, 3)))
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('#/nowhere')
  await page.route('**/api/activity?*', (route) =>
    route.fulfill({ json: { status: 'OK', payload: null, next: null } }),
  )
  await page.evaluate("location.hash = '#/?event=CreateLoanOffer'")
  t.match(await page.getByRole('alert').textContent(), /This view could not be shown/)
  await page.getByRole('link', { name: 'Orders' }).click()
  await until(page, "document.querySelector('h1')?.textContent === 'Orders'")
})
