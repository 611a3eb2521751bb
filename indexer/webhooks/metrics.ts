import { FiguresReader } from '../../shared/database-metrics.ts'
import { counter, gauge, type Registry, type Sample } from '../../shared/metrics.ts'
import { OUTCOMES, type WebhookHealth } from './health.ts'

/** The messages of a webhook in the database. */
export interface WebhookFigures {
  webhook: string
  waiting: number
  /** Null if none waits. */
  oldestAgeS: number | null
  deadLetters: number
}

/** `read` rejects while the database is away; its metrics are then missing. */
export function addWebhookMetrics(
  registry: Registry,
  webhooks: readonly WebhookHealth[],
  read: () => Promise<WebhookFigures[]>,
): void {
  const labels = ['webhook'] as const
  const deliveries = counter(registry, {
    ...{ name: 'webhook_deliveries_total', labels: ['webhook', 'outcome'] },
    help: 'Attempts of this process: delivered, failed (another follows) or given_up (a dead letter now). Messages that were not sent because their deadline had passed are expired.',
  })
  for (const webhook of webhooks) {
    for (const outcome of OUTCOMES) deliveries.inc({ webhook: webhook.name, outcome }, 0)
    webhook.onOutcome = (outcome) => deliveries.inc({ webhook: webhook.name, outcome })
  }
  gauge(
    registry,
    {
      name: 'webhook_disabled',
      help: '1 after the receiver answered 410 Gone, until this program starts again.',
      labels,
    },
    () => webhooks.map(({ name, isDisabled }) => [{ webhook: name }, Number(isDisabled)]),
  )
  const figures = new FiguresReader(read)
  const OF_DATABASE: [name: string, help: string, value: (one: WebhookFigures) => number | null][] = [
    ['webhook_messages_waiting', 'Messages that the receiver has not taken yet.', ({ waiting }) => waiting],
    [
      'webhook_oldest_age_seconds',
      'Age of the oldest of them; missing if there is none.',
      ({ oldestAgeS }) => oldestAgeS,
    ],
    ['webhook_dead_letters', 'Messages that were given up and are kept.', ({ deadLetters }) => deadLetters],
  ]
  for (const [name, help, value] of OF_DATABASE)
    gauge(registry, { name, help, labels }, async () =>
      ((await figures.current()) ?? []).flatMap((one): Sample[] => {
        const number = value(one)
        return number === null ? [] : [[{ webhook: one.webhook }, number]]
      }),
    )
}
