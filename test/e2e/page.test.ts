import t, { type Test } from 'tap'
import type { ActivityRecord } from '../../client/generated/types.gen.ts'
import { axeViolations, pageViewer, until, viewReady, type Viewer } from '../helpers/page.ts'
import { eventually } from '../helpers/programs.ts'
import { startedService } from '../helpers/started-service.ts'

/** The page in a real browser, on the devnet of one `npm start`: activity, search and orders. */

const api = await startedService(t)

async function search(query: string): Promise<ActivityRecord[]> {
  const answer = await fetch(`${api}/api/activity?${query}`)
  return ((await answer.json()) as { payload: ActivityRecord[] }).payload
}

interface Loan {
  erc20Loan: { lender: string }
  filCollateral: { paymentChannelId: string; paymentChannelAddress: string }
}

async function loan(loanId: string): Promise<Loan> {
  const answer = await fetch(`${api}/api/loan/ERC20/${loanId}`)
  return ((await answer.json()) as { payload: Loan }).payload
}

async function withViewer(t: Test, work: (viewer: Viewer) => Promise<void>): Promise<void> {
  const viewer = await pageViewer(t, api)
  if (viewer !== undefined) await work(viewer)
}

const FIRST_ID = 'document.querySelector(\'tbody tr a[href^="api/activity/"]\')?.textContent'

void t.test('new records wait for the reader, and nothing moves meanwhile', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/')
    await page.waitForSelector('tbody tr')
    const first = await page.evaluate(FIRST_ID)
    const place = await page.locator('tbody tr').first().boundingBox()
    const button = page.getByRole('button', { name: /^\d+\+? new$/ })
    await button.waitFor()
    t.equal(await page.evaluate(FIRST_ID), first, 'the first row stays')
    t.same(await page.locator('tbody tr').first().boundingBox(), place, 'where it is')
    await button.click()
    await until(page, `${FIRST_ID} !== '${String(first)}'`)
    const ids = (await page.locator('tbody a[href^="api/activity/"]').allTextContents()).map(Number)
    t.same(
      ids,
      ids.toSorted((a, b) => b - a),
      'newest first',
    )
    t.equal(new Set(ids).size, ids.length, 'none twice')
  }),
)

void t.test('older pages have addresses that can be shared, and the back button returns', (t) =>
  withViewer(t, async (viewer) => {
    const market = 'loanType=ERC20FIL&limit=60'
    await eventually('there are several pages', async () => (await search(market)).length === 60, 90_000)
    const page = await viewer.open('#/?loanType=ERC20FIL')
    await page.waitForSelector('tbody tr')
    await page.getByRole('link', { name: 'Older' }).click()
    await until(page, "location.hash.includes('before=')")
    await viewReady(page)
    await page.waitForSelector('tbody tr')
    const address: string = await page.evaluate('location.hash')
    const before = /before=(\d+)/.exec(address)?.[1] ?? ''
    const wanted = (await search(`loanType=ERC20FIL&before=${before}`)).map(({ id }) => String(id))
    const shown = 'tbody a[href^="api/activity/"]'
    t.same(await page.locator(shown).allTextContents(), wanted, 'the page after that record')

    const other = await viewer.open(address)
    await other.waitForSelector('tbody tr')
    t.same(await other.locator(shown).allTextContents(), wanted, 'the same for somebody else')
    await other.getByRole('link', { name: 'Newer' }).click()
    await until(other, "location.hash.includes('after=')")
    await viewReady(other)
    const newer = (await other.locator(shown).allTextContents()).map(Number)
    t.ok(newer.length > 0 && newer.every((id) => id >= Number(before)), 'newer ones join without a gap')

    await page.goBack()
    await until(page, "!location.hash.includes('before=')")
    t.equal(await page.getByLabel('Market').inputValue(), 'ERC20FIL', 'with its filters')
  }),
)

void t.test('filters narrow the list and are part of the address', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/')
    await page.getByLabel('Event').selectOption('CreateLoanOffer')
    await until(page, "location.hash === '#/?event=CreateLoanOffer'")
    await until(
      page,
      "((rows) => rows.length > 0 && rows.every((row) => row.textContent.includes('Create loan offer')))([...document.querySelectorAll('tbody tr')])",
    )
    t.ok((await page.locator('tbody tr').count()) > 0)
    await page.getByLabel('Account', { exact: true }).fill('0x12')
    await page.getByLabel('Account', { exact: true }).press('Enter')
    t.match(
      await page.getByRole('alert').textContent(),
      /account/,
      'a wrong account is told in the words of the API',
    )
    await page.getByRole('link', { name: 'Clear' }).click()
    await page.waitForSelector('tbody tr')
  }),
)

void t.test('one box finds a loan, an account, a hash, a CID, a voucher and a record', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/')
    const look = async (text: string): Promise<string> => {
      await page.getByRole('searchbox').fill(text)
      await page.getByRole('searchbox').press('Enter')
      await until(
        page,
        `new URLSearchParams(location.hash.split('?')[1]).get('q') === ${JSON.stringify(text)}`,
      )
      await viewReady(page)
      return (await page.textContent('main')) ?? ''
    }
    const newest = async (event: string): Promise<ActivityRecord> => {
      let found: ActivityRecord | undefined
      await eventually(event, async () => (found = (await search(`event=${event}`))[0]) !== undefined, 90_000)
      if (found === undefined) throw new Error(`no ${event}`)
      return found
    }
    const offer = await newest('CreateLoanOffer')
    const locked = await newest('LendERC20/LockCollateral')
    const signed = await newest('LendERC20/SignCollateralVoucher')
    t.match(await look(offer.loanId), `ERC20 loan ${offer.loanId}`)
    t.match(await look(offer.txHash), /Create loan offer/)
    t.match(await look(offer.txHash.slice(2).toUpperCase()), /Create loan offer/, 'in any case')
    t.match(await look(locked.txHash), /Lock collateral/)
    t.match(await look(signed.txHash), /Sign collateral voucher/)
    t.match(await look(signed.txHash.replaceAll('+', '-').replaceAll('/', '_')), /Sign collateral voucher/)
    t.match(await look(String(offer.id)), /One record/)
    const { erc20Loan } = await loan(offer.loanId)
    t.match(await look(erc20Loan.lender), /borrows or lends in \d+/)
    const { filCollateral } = await loan(locked.loanId)
    t.match(await look(filCollateral.paymentChannelId), /this payment channel is its collateral/)
    t.match(await look(filCollateral.paymentChannelAddress), `ERC20 loan ${locked.loanId}`)
    t.match(await look('0x' + '00'.repeat(32)), /Nothing is known of .*records of this transaction/)
    t.match(await look('hello?'), /has the form of nothing/)
  }),
)

void t.test('orders show both sides, open and closed', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/orders?state=closed')
    await page.waitForSelector('tbody tr')
    t.match(await page.textContent('tbody'), /ERC20 loan \d+/)
    t.match(await page.textContent('tbody'), /\d\.\d+ [A-Z]+/, 'an amount with its symbol')
    await page.getByRole('link', { name: 'Requests for FIL' }).click()
    await until(page, "/FIL loan \\d+/.test(document.querySelector('tbody')?.textContent)")
    await page
      .getByRole('link', { name: /^FIL loan/ })
      .first()
      .click()
    await until(page, "location.hash.startsWith('#/loan/FIL/')")
  }),
)

void t.test('a keyboard is enough, and the focus follows the reader', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/')
    const focused = 'document.activeElement.id || document.activeElement.textContent'
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate(focused), 'Skip to the content')
    await page.keyboard.press('Enter')
    t.equal(await page.evaluate(focused), 'main')
    t.equal(await page.evaluate('location.hash'), '#/', 'without another address')
    for (let tabs = 0; tabs < 4; tabs += 1) await page.keyboard.press('Shift+Tab')
    await page.getByRole('searchbox').focus()
    await page.keyboard.type('1')
    await page.keyboard.press('Enter')
    await until(page, "document.activeElement.tagName === 'H1' && document.title.startsWith('Search')")
    await viewReady(page)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await until(page, "location.hash.startsWith('#/loan/')")
    await until(page, "document.activeElement.tagName === 'H1'")
  }),
)

void t.test('what is copied is the whole hash', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.waitForSelector('tbody tr')
    const whole = await page.locator('tbody tr code').first().getAttribute('title')
    await page.getByRole('button', { name: /^Copy/ }).first().click()
    await until(page, "document.querySelector('.announcer').textContent.startsWith('Copied')")
    t.equal(await page.evaluate('navigator.clipboard.readText()'), whole)
  }),
)

void t.test('each view is usable by everybody, on a desktop and on a phone', (t) =>
  withViewer(t, async (viewer) => {
    const rows = (page: { waitForSelector: (selector: string) => Promise<unknown> }) =>
      page.waitForSelector('tbody tr')
    await viewer.examine(t, '#/', 'activity', rows)
    await viewer.examine(t, '#/orders?state=closed', 'orders', rows)
    await viewer.examine(t, '#/search?q=1', 'search')
    await viewer.examine(t, '#/search?q=999999', 'search-nothing')
    t.same(await axeViolations(await viewer.open('#/nowhere')), [])
  }),
)
