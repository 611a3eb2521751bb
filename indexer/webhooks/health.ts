import pTimeout from 'p-timeout'
import { messageOf } from '../../shared/errors.ts'
import type { Readiness } from '../serve-telemetry.ts'

export const OUTCOMES = ['delivered', 'failed', 'given_up', 'expired'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** A webhook as this process sees it. */
export interface WebhookHealth {
  name: string
  /** The receiver answered 410 Gone. */
  isDisabled: boolean
  /** Called after each attempt, and for a message that came too late for one. */
  onOutcome: (outcome: Outcome) => void
}

const WITHIN_MS = 2_000

export function newWebhookHealth(name: string): WebhookHealth {
  return { name, isDisabled: false, onOutcome: () => undefined }
}

/** Ready while the database and the queue answer: a receiver that is away is none of this program's faults. */
export async function readinessOf(
  webhooks: readonly WebhookHealth[],
  ask: () => Promise<unknown>,
): Promise<Readiness> {
  const problem = await pTimeout(ask(), { milliseconds: WITHIN_MS }).then(() => null, messageOf)
  const states = webhooks.map(({ name, isDisabled }) => ({
    webhook: name,
    state: isDisabled ? 'disabled' : 'sending',
  }))
  return { isReady: problem === null, payload: { problem, webhooks: states } }
}
