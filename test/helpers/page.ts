import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type Page } from 'playwright-core'
import type { Test } from 'tap'
import type { Db } from '../../shared/db/connect.ts'
import { startApi } from './api-process.ts'
import { browserProgram } from './browser.ts'
import { testDatabase } from './database.ts'
import { builtPage } from './page-build.ts'
import { eventually } from './programs.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** `npm run screenshots` names the folder for them; tests take none. */
const SHOTS = process.env['PAGE_SCREENSHOTS']

export interface Look {
  /** CSS pixels; 1280 by 800 if omitted. */
  width?: number
  height?: number
  dark?: boolean
  /** Milliseconds by which every answer of the API is delayed. */
  slowMs?: number
}

export interface Viewer {
  /** Opens an address of the page, as in `#/loan/ERC20/1`, in a window of its own and waits for its view. */
  open: (hash: string, look?: Look) => Promise<Page>
  /** Fails unless axe finds nothing, in light and dark, on a desktop and a phone. Takes screenshots when asked to. */
  examine: (t: Test, hash: string, name: string, ready?: (page: Page) => Promise<unknown>) => Promise<void>
}

/** A real API on a database of its own, with the page; `fill` writes what it shows. */
export async function pageApi(
  t: Test,
  fill: (db: Db) => Promise<void>,
  environment: Record<string, string> = {},
): Promise<{ api: string; db: Db; stop: () => void }> {
  builtPage()
  const { url, db } = await testDatabase(t)
  await fill(db)
  const { child, listening } = startApi(t, { DATABASE_URL: url, API_PORT: '0', ...environment })
  return { api: await listening, db, stop: () => child.kill('SIGKILL') }
}

/**
 * A browser for the page of this API; undefined without one. At the end of the test no script may have failed, no dialog
 * may have opened, and nothing may have broken the page's policy.
 */
export async function pageViewer(t: Test, api: string): Promise<Viewer | undefined> {
  const executablePath = browserProgram(t)
  if (executablePath === undefined) return undefined
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const mistakes: string[] = []
  t.teardown(async () => {
    await browser.close()
    if (mistakes.length > 0) throw new Error(`in the browser: ${mistakes.join('\n')}`)
  })
  const open = async (hash: string, look: Look = {}): Promise<Page> => {
    const page = await newPage(browser, look, mistakes)
    await page.goto(`${api}/${hash}`)
    await viewReady(page)
    return page
  }
  return { open, examine: (t, hash, name, ready) => examine(t, { open, hash, name, ready }) }
}

/** Waits until the view has its heading and loads nothing any more. */
export async function viewReady(page: Page): Promise<void> {
  await page.waitForSelector('h1')
  await until(page, "document.querySelector('main .shimmer') === null")
}

/**
 * Waits until an expression is true in the page. Playwright's own `waitForFunction` evaluates texts in the page, which the
 * policy forbids.
 */
export async function until(page: Page, expression: string): Promise<void> {
  // A navigation ends what is evaluated meanwhile.
  await eventually(expression, () => page.evaluate<boolean>(`Boolean(${expression})`).catch(() => false))
}

/** What axe finds, a line each. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate<string[]>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target + ' ' + failureSummary)))`,
  )
}

/** CSS pixels by which the document is wider than the window. */
export async function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}

const LOOKS = [
  ['desktop-light', { width: 1280, height: 800, dark: false }],
  ['desktop-dark', { width: 1280, height: 800, dark: true }],
  ['phone-light', { width: 390, height: 844, dark: false }],
  ['phone-dark', { width: 390, height: 844, dark: true }],
] as const

async function examine(
  t: Test,
  {
    open,
    hash,
    name,
    ready,
  }: {
    open: Viewer['open']
    hash: string
    name: string
    ready: ((page: Page) => Promise<unknown>) | undefined
  },
): Promise<void> {
  for (const [kind, look] of LOOKS) {
    const page = await open(hash, look)
    await ready?.(page)
    t.same(await axeViolations(page), [], `${name}, ${kind}: axe finds nothing`)
    if (SHOTS !== undefined) {
      mkdirSync(SHOTS, { recursive: true })
      await page.screenshot({
        path: `${fileURLToPath(new URL('../../', import.meta.url))}${SHOTS}/${name}-${kind}.png`,
      })
    }
    await page.setViewportSize({ width: 360, height: 740 })
    t.equal(await sidewaysScroll(page), 0, `${name}: fits 360 pixels`)
    await page.close()
  }
}

async function newPage(browser: Browser, look: Look, mistakes: string[]): Promise<Page> {
  const { width = 1280, height = 800, dark = false, slowMs = 0 } = look
  const page = await browser.newPage({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Zurich',
    locale: 'en-GB',
  })
  page.setDefaultTimeout(60_000)
  page.on('pageerror', ({ message }) => mistakes.push(message))
  page.on('dialog', (dialog) => {
    mistakes.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) mistakes.push(message.text())
  })
  if (slowMs > 0)
    await page.route('**/api/**', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, slowMs))
      await route.continue().catch(() => undefined)
    })
  return page
}
