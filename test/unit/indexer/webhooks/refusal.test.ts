import t from 'tap'
import { pauseOf, Refusal } from '../../../../indexer/webhooks/refusal.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

void t.test('a receiver asks for a pause in seconds or until a time, within five minutes', (t) => {
  const cases: [retryAfter: string | null, ms: number][] = [
    [null, 0],
    ['0', 0],
    ['7', 7_000],
    ['301', 300_000],
    ['999999999', 300_000],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Thu, 01 Jan 2026 09:00:00 GMT', 300_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['soon', 0],
    ['', 0],
    ['-7', 0],
  ]
  for (const [retryAfter, ms] of cases) t.equal(pauseOf(retryAfter, NOW_MS), ms, String(retryAfter))
  t.end()
})

void t.test('only 429 and 503 ask for a pause, and 410 says that the receiver is gone', (t) => {
  for (const status of [429, 503]) t.match(new Refusal(status, '7'), { pauseMs: 7_000, isGone: false })
  for (const status of [301, 404, 500]) t.match(new Refusal(status, '7'), { pauseMs: 0, isGone: false })
  t.match(new Refusal(410, '7'), { pauseMs: 0, isGone: true, message: 'the receiver answered 410' })
  t.end()
})
