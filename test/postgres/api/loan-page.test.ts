import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import t from 'tap'
import { startApi } from '../../helpers/api-process.ts'
import { browserProgram } from '../../helpers/browser.ts'
import { testDatabase } from '../../helpers/database.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

/** The page that docs/api.md offers to copy, in a real browser. */
const PAGE = pathToFileURL(new URL('../../../docs/loan-page.html', import.meta.url).pathname)

void t.test('the page of docs/ shows a loan, its next actions and its events', async (t) => {
  const executablePath = browserProgram(t)
  if (executablePath === undefined) return
  const { url, db } = await testDatabase(t)
  await ingestStories(db, tellStories(1, 1, { market: 'erc20', end: 'open', handedIn: 1 }))
  await seedNetwork(db)
  const api = await startApi(t, { DATABASE_URL: url, API_PORT: '0' }).listening
  const { payload } = (await (await fetch(`${api}/api/activity`)).json()) as { payload: { loanId: string }[] }
  const loanId = payload[0]?.loanId ?? ''
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  const mistakes: string[] = []
  page.on('pageerror', ({ message }) => mistakes.push(message))
  const open = (loan: string) => page.goto(`${PAGE.href}?api=${encodeURIComponent(api)}&loan=${loan}`)
  await open(loanId)
  await page.waitForSelector('#events tr')
  t.match(await page.textContent('h1'), new RegExp(`^Loan ${loanId}: [a-z ]+$`))
  t.match(await page.textContent('#events'), /CreateLoanOffer/)
  t.match(await page.textContent('#actions'), /borrower|lender/)
  t.equal(await page.locator('#events tr').count(), payload.length)
  await open('999')
  await page.waitForFunction("document.querySelector('[role=alert]').textContent !== ''")
  t.match(await page.textContent('[role=alert]'), /999/)
  t.same(mistakes, [])
})
