import t, { type Test } from 'tap'
import type { Page } from 'playwright-core'
import type {
  AccountLoans,
  ActivityRecord,
  DailyFigures,
  Erc20LoanAnswer,
  LoanNextAnswer,
  LoanVouchersAnswer,
  ProvenanceAnswer,
  StatusAnswer,
} from '../../client/generated/types.gen.ts'
import { ACTION_WORDS } from '../../api/page/views/loan/action-words.ts'
import { eventWords } from '../../api/page/views/loan/event-words.ts'
import { STEP_SENTENCES } from '../../api/page/views/loan/protocol-steps.ts'
import { stateWords } from '../../api/page/views/loan/state-words.ts'
import { shorten } from '../../api/page/lib/format.ts'
import { pageViewer, until, viewReady, type Viewer } from '../helpers/page.ts'
import { eventually } from '../helpers/programs.ts'
import { startedService } from '../helpers/started-service.ts'

/** The page in a real browser, on the devnet of one `npm start`: a loan, an account, the status and the tour. */

const api = await startedService(t)

async function get<T>(path: string): Promise<T> {
  return ((await (await fetch(`${api}${path}`)).json()) as { payload: T }).payload
}

async function recordOf(event: string): Promise<ActivityRecord> {
  let found: ActivityRecord | undefined
  await eventually(`a record of ${event}`, async () => {
    ;[found] = await get<ActivityRecord[]>(`/api/activity?event=${event}&limit=1`)
    return found !== undefined
  })
  if (found === undefined) throw new Error(`there is no ${event}`)
  return found
}

async function withViewer(t: Test, work: (viewer: Viewer) => Promise<void>): Promise<void> {
  const viewer = await pageViewer(t, api)
  if (viewer !== undefined) await work(viewer)
}

const seized = await recordOf('LendERC20/RedeemSeizeCollateralVoucher')
const SEIZED = `#/loan/ERC20/${seized.loanId}`

void t.test('a party finds in two clicks where its loan stands, what it can do and until when', (t) =>
  withViewer(t, async (viewer) => {
    await recordOf('ApproveRequest')
    const page = await viewer.open('#/?event=ApproveRequest')
    const link = page.locator('tbody tr a[href^="#/loan/"]').first()
    await link.click()
    await page.waitForSelector('#can-do')
    const [, loanId = ''] = /#\/loan\/ERC20\/(\w+)/.exec(await page.evaluate<string>('location.hash')) ?? []
    // The devnet goes on, so that the page is right once it says what the API says.
    await eventually('the page shows what the API answers', async () => {
      const { step, actions } = await get<LoanNextAnswer['payload']>(`/api/loan/ERC20/${loanId}/next`)
      const titles = await page.locator('.action-title').allTextContents()
      const wanted = actions.map(({ actor, action }) =>
        `${actor} ${ACTION_WORDS[action].title}`.toLowerCase(),
      )
      const limits = await page.evaluate<string[]>(
        "[...document.querySelectorAll('.action time')].map((time) => time.dateTime)",
      )
      const ends = actions
        .flatMap(({ notBefore, notAfter }) => [notBefore?.time, notAfter?.time])
        .filter(Boolean)
      return (
        (await page.locator('main').textContent())?.includes(STEP_SENTENCES[step]) === true &&
        String(titles.map((title) => title.toLowerCase()).toSorted()) === String(wanted.toSorted()) &&
        limits.every((limit) => ends.includes(limit))
      )
    })
    t.match(await page.locator('.steps').getAttribute('aria-label'), /Steps/)
  }),
)

void t.test('the slider shows what asOf answers, keyboard only, and the address keeps it', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open(SEIZED)
    const slider = page.getByLabel('The loan as it stood after')
    const { loanEvents } = await get<Erc20LoanAnswer['payload']>(`/api/loan/ERC20/${seized.loanId}`)
    // The devnet goes on, and the page asks every few seconds.
    await until(page, `document.querySelector('.moment input')?.max >= ${loanEvents.length}`)
    await slider.focus()
    await page.keyboard.press('Home')
    for (const [index, { id, event }] of loanEvents.entries()) {
      if (index > 0) await page.keyboard.press('ArrowRight')
      await until(page, `location.hash === '${SEIZED}?asOf=${id}'`)
      await samePast(t, page, id)
      t.match(await slider.getAttribute('aria-valuetext'), eventWords(event).title)
    }
    const half = loanEvents[Math.floor(loanEvents.length / 2)]?.id ?? 0
    const shared = await viewer.open(`${SEIZED}?asOf=${half}`)
    await samePast(t, shared, half)
    await shared.getByRole('button', { name: 'Back to now' }).click()
    await until(shared, `location.hash === '${SEIZED}'`)
    t.equal(await shared.locator('.past-note').count(), 0)
  }),
)

/** Compares states, secrets and the step with the lookup as of this record. */
async function samePast(t: Test, page: Page, id: number): Promise<void> {
  const past = await get<Erc20LoanAnswer['payload']>(`/api/loan/ERC20/${seized.loanId}?asOf=${id}`)
  const { erc20Loan, filCollateral } = past
  const states = [stateWords('erc20Loan', erc20Loan.state ?? '')]
  if ('state' in filCollateral) states.push(stateWords('filCollateral', filCollateral.state ?? ''))
  const secrets = [
    erc20Loan.secretA1 ?? ('secretA1' in filCollateral ? filCollateral.secretA1 : null),
    erc20Loan.secretB1 ?? ('secretB1' in filCollateral ? filCollateral.secretB1 : null),
  ].map((secret) => (secret === null ? 'not revealed' : 'revealed'))
  const badges = (of: string): Promise<string[]> =>
    page.locator(`section[aria-labelledby=${of}] .badge`).allTextContents()
  await eventually(
    `the page shows the loan after record ${id}`,
    async () => String(await badges('channels')) === String(states),
  )
  t.same(await badges('secrets'), secrets, `secrets after record ${id}`)
}

void t.test('both chains are on one timeline, with the reasons that link them', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open(SEIZED)
    const { loanEvents } = await get<Erc20LoanAnswer['payload']>(`/api/loan/ERC20/${seized.loanId}`)
    await page.waitForSelector('.card')
    const shown = await page.evaluate<[string, string][]>(
      "[...document.querySelectorAll('.card')].map((card) => [card.classList[1], card.textContent])",
    )
    t.ok(shown.length >= loanEvents.length)
    for (const [index, { blockchain, event }] of loanEvents.entries()) {
      t.equal(shown[index]?.[0], blockchain === 'FIL' ? 'filecoin' : 'evm', event)
      t.match(shown[index]?.[1], eventWords(event).title)
    }
    const reasons = await page.locator('.reasons').textContent()
    t.match(reasons, /showed secret A1/)
    const upper = await page.locator('.card.evm').first().boundingBox()
    const lower = await page.locator('.card.filecoin').first().boundingBox()
    t.ok((upper?.y ?? 0) + (upper?.height ?? 0) < (lower?.y ?? 0), 'EVM above, Filecoin below')
  }),
)

void t.test('a developer finds in two clicks where a record comes from', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open(SEIZED)
    const card = page.locator('.card.filecoin button').last()
    await card.focus()
    await page.keyboard.press('Enter')
    await until(page, "location.hash.includes('asOf=')")
    const [, id = ''] = /asOf=(\d+)/.exec(await page.evaluate<string>('location.hash')) ?? []
    const { record, epoch, hash } = await get<ProvenanceAnswer['payload']>(`/api/activity/${id}`)
    await until(page, "document.querySelector('.record-detail')?.textContent.includes('How it is known')")
    const told = (await page.locator('.record-detail').textContent()) ?? ''
    for (const part of [record.event, shorten(record.txHash), `epoch ${epoch}`, shorten(hash ?? '')])
      t.ok(told.includes(part), part)
    t.equal(await card.getAttribute('aria-pressed'), 'true')
  }),
)

void t.test('vouchers are shown with their state', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open(SEIZED)
    const vouchers = await get<LoanVouchersAnswer['payload']>(`/api/loan/ERC20/${seized.loanId}/vouchers`)
    await page.waitForSelector('.voucher')
    t.equal(await page.locator('.voucher').count(), vouchers.length)
    t.match(await page.locator('.vouchers').textContent(), /Seize voucher.*Redeemed in epoch \d+/)
  }),
)

void t.test('a loan that does not exist is said to be missing, and comes once it is there', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/loan/ERC20/999999')
    t.match(await page.getByRole('alert').textContent(), /no such/)
    const odd = await viewer.open('#/loan/ERC20')
    t.match(await odd.locator('main').textContent(), /names no loan/)
  }),
)

void t.test('an account has its loans on either side, the most urgent first', (t) =>
  withViewer(t, async (viewer) => {
    const { erc20Loan } = await get<Erc20LoanAnswer['payload']>(`/api/loan/ERC20/${seized.loanId}`)
    const page = await viewer.open(SEIZED)
    await page.locator('section[aria-labelledby=parties] a').first().click()
    await until(page, `location.hash === '#/account/${erc20Loan.borrower ?? ''}'`)
    await page.waitForSelector('tbody tr')
    await eventually('all its loans are listed', async () => {
      const { filLoans, erc20Loans } = await get<AccountLoans['payload']>(
        `/api/loans/account/${erc20Loan.borrower ?? ''}`,
      )
      return (await page.locator('tbody tr').count()) === filLoans.length + erc20Loans.length
    })
    t.match(await page.locator('tbody').allTextContents(), [/borrower|lender/])
    const isDue = await page.evaluate<boolean[]>(
      "[...document.querySelectorAll('tbody tr')].map((row) => row.querySelector('.due') !== null)",
    )
    t.equal(
      isDue.lastIndexOf(true) + 1,
      isDue.filter(Boolean).length,
      'those with something to do come first',
    )
    const nobody = await viewer.open(`#/account/0x${'12'.repeat(20)}`)
    t.match(await nobody.locator('main').textContent(), /has no loans/)
  }),
)

/** Whether each chart has a line: unlike its axes it is in colour. It comes with the second value. */
const INK = `[...document.querySelectorAll('.chart canvas')].map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  return data.some((red, at) => at % 4 === 0 && data[at + 3] > 200 && Math.abs(red - data[at + 2]) > 50)
})`

void t.test('an operator sees in one click whether the service is up to date', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/')
    await page.getByRole('link', { name: 'Status' }).first().click()
    await page.waitForSelector('.network')
    const { networks } = await get<StatusAnswer['payload']>('/api/status')
    t.same(
      await page.locator('.network h2').allTextContents(),
      networks.map(({ network }) => network),
    )
    await until(page, "document.querySelector('.lead').textContent === 'Everything is up to date.'")
    await until(page, `${INK}.length === ${networks.length * 2 + 1} && ${INK}.every(Boolean)`)
    await until(
      page,
      "/Proof of blocks 0 to .*(blooms|endpoint|receipts)/.test(document.querySelector('section.network').textContent)",
    )
    await page.getByText('The figures as a table').click()
    const hasFigures = async (): Promise<boolean> => {
      const rows = await get<DailyFigures[]>('/api/stats/daily')
      const cells = await page.locator('section[aria-labelledby=daily] tbody tr').allTextContents()
      return (
        rows.length > 0 &&
        rows.every(({ day, opened }) =>
          cells.some((text) => text.includes(day) && text.includes(`${opened}`)),
        )
      )
    }
    // The devnet goes on, and the page asks for them every 30 s.
    await eventually('the table has the daily figures', hasFigures, 60_000)
  }),
)

void t.test('the tour invites on a devnet until it is dismissed, and points at a loan', (t) =>
  withViewer(t, async (viewer) => {
    const page = await viewer.open('#/')
    await page.getByRole('link', { name: 'Take the tour' }).click()
    await viewReady(page)
    await page.getByRole('link', { name: 'A loan worth a look' }).click()
    await page.waitForSelector('.timeline')
    await page.goto(`${api}/#/`)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.reload()
    await page.waitForSelector('tbody tr')
    await until(page, "document.querySelector('main') !== null")
    t.equal(await page.getByRole('link', { name: 'Take the tour' }).count(), 0)
  }),
)

void t.test(
  'each view is free of what axe finds, in light and dark, on desktop and phone',
  { timeout: 240_000 },
  (t) =>
    withViewer(t, async (viewer) => {
      const { erc20Loan } = await get<Erc20LoanAnswer['payload']>(`/api/loan/ERC20/${seized.loanId}`)
      const toTimeline = async (page: Page): Promise<void> => {
        await page.waitForSelector('.timeline')
        await page.evaluate("document.querySelector('#timeline').scrollIntoView()")
      }
      const open = await recordOf('ApproveRequest')
      await viewer.examine(t, `#/loan/ERC20/${open.loanId}`, 'loan', (page) =>
        page.waitForSelector('#can-do'),
      )
      await viewer.examine(t, SEIZED, 'loan-timeline', toTimeline)
      await viewer.examine(t, `${SEIZED}?asOf=${seized.id}`, 'loan-past', async (page) => {
        await page.waitForSelector('.past-note')
        await toTimeline(page)
      })
      await viewer.examine(t, `#/account/${erc20Loan.borrower ?? ''}`, 'account', (page) =>
        page.waitForSelector('tbody tr'),
      )
      await viewer.examine(t, '#/status', 'status', (page) =>
        until(page, `${INK}.length > 1 && ${INK}.every(Boolean)`),
      )
      await viewer.examine(t, '#/tour', 'tour')
      await viewer.examine(t, '#/loan/ERC20/999999', 'loan-missing')
    }),
)
