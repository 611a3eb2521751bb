import { createHmac } from 'node:crypto'
import { webhookKey, type Webhook } from '../../shared/config/webhooks.ts'
import type { Message } from './message.ts'
import { Refusal } from './refusal.ts'

const WITHIN_MS = 15_000

/**
 * Sends one signed message. Rejects unless the receiver answers 2xx in time, with a {@link Refusal} after any other answer, and
 * as soon as `signal` aborts. Redirects are not
 * followed, for the target is not the one that was configured; the answer's body is not read.
 */
export async function deliver(
  { url, secret }: Pick<Webhook, 'url' | 'secret'>,
  { id, body }: Message,
  signal: AbortSignal,
): Promise<void> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const ending = new AbortController()
  const stop = (): void => ending.abort(new Error('the program stops'))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const timer = setTimeout(
    () => ending.abort(new Error(`the receiver did not answer within ${WITHIN_MS} ms`)),
    WITHIN_MS,
  )
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'loan-activity',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signatureOf(secret, `${id}.${timestamp}.${body}`),
      },
      body,
      redirect: 'manual',
      signal: ending.signal,
    })
    await response.body?.cancel()
    if (!response.ok) throw new Refusal(response.status, response.headers.get('retry-after'))
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

function signatureOf(secret: string, text: string): string {
  return `v1,${createHmac('sha256', webhookKey(secret)).update(text).digest('base64')}`
}
