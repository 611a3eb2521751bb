import pTimeout from 'p-timeout'
import { counter, gauge, histogram, type Registry } from '../../shared/metrics.ts'

/** An answer's outcome by its status; a full line of waiting requests and a server that is away are both 503. */
const OUTCOMES = {
  200: 'known',
  202: 'queued',
  409: 'unverified',
  422: 'refused',
  429: 'rate_limited',
} as const
const KINDS = ['voucher', 'statement'] as const
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
/** Milliseconds within which the queue must answer a scrape. */
const WITHIN_MS = 2_000

export interface IntakeMetrics {
  onAnswer: (kind: 'voucher' | 'statement', answer: { status: number; ms: number; isShed: boolean }) => void
}

/** `askQueue` rejects while the queue is away. */
export function addIntakeMetrics(registry: Registry, askQueue: () => Promise<unknown>): IntakeMetrics {
  const answers = counter(registry, {
    ...{ name: 'intake_requests_total', labels: ['kind', 'outcome'] },
    help: 'Requests by outcome: queued, known before, refused (false for good), unverified (the index knows too little yet), malformed, rate_limited, shed (too many wait), away (no database or queue).',
  })
  const durations = histogram(registry, {
    ...{ name: 'intake_request_duration_seconds', labels: ['kind'], buckets: SECONDS },
    help: 'Time from a request to the end of its answer.',
  })
  for (const kind of KINDS)
    for (const outcome of [...Object.values(OUTCOMES), 'malformed', 'shed', 'away'])
      answers.inc({ kind, outcome }, 0)
  gauge(registry, { name: 'intake_queue_up', help: '1 while the queue answers the intake.' }, async () => {
    const asked = pTimeout(askQueue(), { milliseconds: WITHIN_MS })
    return [
      [
        {},
        await asked.then(
          () => 1,
          () => 0,
        ),
      ],
    ]
  })
  return {
    onAnswer: (kind, { status, ms, isShed }) => {
      answers.inc({ kind, outcome: outcomeOf(status, isShed) })
      durations.observe({ kind }, ms / 1000)
    },
  }
}

function outcomeOf(status: number, isShed: boolean): string {
  if (status >= 500) return isShed ? 'shed' : 'away'
  return (OUTCOMES as Record<number, string>)[status] ?? 'malformed'
}
