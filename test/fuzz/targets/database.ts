import { buildApp } from '../../../api/app.ts'
import { openReadDatabase } from '../../../api/queries/read-database.ts'
import { errorAnswer } from '../../../api/schemas/common.ts'
import { DEAD_LETTERS_KEPT, putDeadLetter } from '../../../indexer/ingest/dead-letters.store.ts'
import { connect } from '../../../shared/db/connect.ts'
import { createLogger } from '../../../shared/log.ts'
import { must, shown, type FuzzTarget, type Outcome, type TargetNeeds } from '../fuzz-target.ts'
import { hostileText, mutatedText } from '../hostile-text.ts'
import { jsonLike } from '../mutate-json.ts'
import type { FuzzRandom } from '../random.ts'
import { ANY_JSON, parsedJson } from './handed-in.ts'

const PATHS = [
  '/api/activity/history',
  '/api/activity/history/1',
  '/api/activity/history/2',
  '/api/activity',
  '/api/activity?limit=5&before=900',
  '/api/activity?loanId=7&loanType=ERC20FIL&event=CreateLoanOffer&blockchain=DEVNET&networkId=31337&txHash=0x01',
  '/api/loan/ERC20/7',
  '/api/loan/FIL/eth-7',
  '/api/status',
  '/healthz',
  '/readyz',
  '/',
] as const
const METHODS = [
  'GET',
  'GET',
  'GET',
  'GET',
  'GET',
  'GET',
  'HEAD',
  'OPTIONS',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
] as const
const NAMES = [
  'before',
  'limit',
  'loanId',
  'loanType',
  'event',
  'txHash',
  '__proto__',
  'constructor',
  'limit[]',
] as const

interface Asked {
  method: (typeof METHODS)[number]
  url: string
  payload?: string
}

/** The HTTP parser refuses URLs with these characters before any of our code runs. */
const NO_URL = /[^\x21-\x7e\x80-\xff]/g

function urlLike(random: FuzzRandom): string {
  let url: string = random.pick(PATHS)
  const raw = random.chance(0.3)
  const part = (text: string): string => (raw ? text : encodeURIComponent(text.replaceAll(/\p{Cs}/gu, '%')))
  for (let changes = random.below(4); changes > 0; changes -= 1) {
    const joint = url.includes('?') ? '&' : '?'
    const choice = random.below(6)
    if (choice === 0) url += `/${part(hostileText(random))}`
    else if (choice === 1) url = url.replace(/[^/]*$/, part(hostileText(random)))
    else if (choice < 4) url += `${joint}${random.pick(NAMES)}=${part(hostileText(random))}`
    else if (choice === 4) url += `${joint}${part(hostileText(random))}`
    else url = mutatedText(random, url)
  }
  url = `/${url.replaceAll(NO_URL, '')}`.replace(/^\/+/, '/')
  // An invalid URL would fail in `inject`, which is no part of the service.
  return URL.canParse(url, 'http://localhost') && !/^\/\\/.test(url) ? url : '/'
}

const http: FuzzTarget = {
  name: 'http',
  about: 'paths, queries and methods, on Postgres: never 5xx (but /readyz), errors in the envelope',
  cases: 50_000,
  quickCases: 400,
  needsDatabase: true,
  open: async ({ databaseUrl }: TargetNeeds) => {
    const database = openReadDatabase(databaseUrl ?? '', { onError: () => undefined })
    const app = await buildApp({ database, log: createLogger('fuzz', 'silent'), version: '0.0.0-fuzz' })
    const feed = async (asked: Asked): Promise<Outcome> => {
      const { statusCode, headers, body } = await app.inject(asked)
      must(headers['access-control-allow-origin'] === '*', 'readable from everywhere')
      if (asked.method === 'HEAD' || statusCode === 204) return 'taken'
      if (statusCode === 200) {
        const isPage = asked.url.split('?')[0] === '/'
        must(isPage ? body.startsWith('<!doctype html>') : JSON.parse(body) !== null, 'the page, else JSON')
        return 'taken'
      }
      const isReadiness = statusCode === 503 && body.includes('"payload":{"networks":')
      must(
        statusCode >= 400 && (statusCode < 500 || isReadiness),
        `status ${statusCode}: ${body.slice(0, 200)}`,
      )
      if (isReadiness) return 'taken'
      const { message } = errorAnswer.parse(JSON.parse(body))
      // The longest message lists the names of all events.
      must(message.length < 1_000, `a message of ${message.length} characters`)
      return 'refused'
    }
    return {
      make: (random) => {
        const method = random.pick(METHODS)
        const url = urlLike(random)
        const payload = method.startsWith('P') ? { payload: jsonLike(random, ANY_JSON) } : {}
        const asked = { method, url, ...payload }
        return { feed: () => feed(asked), show: () => shown(asked) }
      },
      close: async () => {
        await app.close()
        await database.close()
      },
    }
  },
}

const deadLetters: FuzzTarget = {
  name: 'dead-letters',
  about: 'any JSON in a refused job, on Postgres: kept, whatever it is',
  cases: 50_000,
  quickCases: 400,
  needsDatabase: true,
  open: ({ databaseUrl }: TargetNeeds) => {
    const db = connect(databaseUrl ?? '', { name: 'loan-activity fuzz', max: 1 })
    const feed = async (payload: unknown, name: string, reason: string): Promise<Outcome> => {
      await putDeadLetter(db, { queue: 'vouchers', jobId: name, network: name, payload, reason })
      return 'taken'
    }
    return {
      make: (random) => {
        const text = jsonLike(random, ANY_JSON)
        const [name, reason] = [hostileText(random), hostileText(random)]
        return {
          feed: () => {
            const data = parsedJson(text)
            return data === undefined ? 'refused' : feed(data.value, name, reason)
          },
          show: () => shown({ text, name, reason }),
        }
      },
      close: async () => {
        const { length } = await db.selectFrom('ledger.dead_letters').select('id').execute()
        await db.destroy()
        must(length <= DEAD_LETTERS_KEPT, `${length} dead letters are kept`)
      },
    }
  },
}

export const DATABASE_TARGETS: readonly FuzzTarget[] = [http, deadLetters]
