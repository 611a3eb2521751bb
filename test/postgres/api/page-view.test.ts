import t from 'tap'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { pageApi, pageViewer, until } from '../../helpers/page.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

/** The page at a glance; test/e2e/page*.test.ts examine it. */
void t.test('the page shows the newest records, and a record leads to its loan', async (t) => {
  const { api } = await pageApi(t, (db) => ingestStories(db, tellStories(1, 3)))
  const viewer = await pageViewer(t, api)
  if (viewer === undefined) return
  const page = await viewer.open('')
  const { payload } = (await (await fetch(`${api}/api/activity`)).json()) as { payload: { loanId: string }[] }
  await page.waitForSelector('tbody tr')
  t.equal(await page.locator('tbody tr').count(), payload.length)
  await page.locator('tbody tr a').first().click()
  await until(page, "location.hash.startsWith('#/loan/')")
  await until(page, "document.title.endsWith('Loan activity') && !document.title.startsWith('Activity')")
})
