import * as z from 'zod'
import { RECORD_EVENTS } from '../events/record-events.ts'

/** The shape of WEBHOOKS_FILE. Unknown keys are errors: a misspelt key would silently take its default. */

/** Bytes of a key, as the Standard Webhooks specification asks. */
const KEY_BYTES = { least: 24, most: 64 }
/** Each has a queue and a worker of its own, and so up to three connections to Postgres. */
const MOST_WEBHOOKS = 20
const MOST_HOURS = 720
const QUEUE_PREFIX = 'webhook-'
const NETWORK = /^(evm:[1-9]\d{0,15}(:[A-Za-z][A-Za-z0-9]{0,15})?|filecoin:[a-z][a-z0-9-]{0,31})$/

const secretSchema = z.string().refine((text) => {
  const bytes = webhookKey(text).length
  const isBase64 = /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)
  return isBase64 && bytes >= KEY_BYTES.least && bytes <= KEY_BYTES.most
}, `must be whsec_ and ${KEY_BYTES.least} to ${KEY_BYTES.most} bytes in base64`)

const urlSchema = z.string().refine((text) => {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}, 'must be an http:// or https:// URL without user and password')

const webhookSchema = z.strictObject({
  /** Names its queue and its place in the log. Another name begins anew. */
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must have at most 32 lower-case letters, digits and -'),
  url: urlSchema,
  secret: secretSchema,
  /** Only records that fit each filter are sent. */
  events: z
    .array(z.string().refine((name) => RECORD_EVENTS.includes(name), 'must be an event of docs/api.md'))
    .optional(),
  loanTypes: z
    .array(z.enum(['ERC20FIL', 'FILERC20']))
    .min(1)
    .optional(),
  networks: z
    .array(z.string().regex(NETWORK, 'must be a network such as evm:1 or filecoin:mainnet'))
    .min(1)
    .optional(),
  /** A webhook that is new begins here. */
  from: z.enum(['now', 'beginning']).default('now'),
  /** Sends each action that can no longer be taken within so many hours; none if it is omitted. */
  dueSoonHours: z.int().min(1).max(MOST_HOURS).optional(),
})

export const webhooksSchema = z
  .strictObject({ webhooks: z.array(webhookSchema).min(1).max(MOST_WEBHOOKS) })
  .superRefine(({ webhooks }, context) => {
    for (const [index, { events, dueSoonHours }] of webhooks.entries()) {
      if (events?.length !== 0 || dueSoonHours !== undefined) continue
      const path = ['webhooks', index, 'events']
      context.addIssue({ code: 'custom', message: 'must not be empty without dueSoonHours', path })
    }
    const names = webhooks.map(({ name }) => name)
    const twice = names.find((name, index) => names.indexOf(name) < index)
    if (twice === undefined) return
    context.addIssue({ code: 'custom', message: `two webhooks have the name ${twice}`, path: ['webhooks'] })
  })

export type Webhook = z.infer<typeof webhookSchema>

/** The bytes of the key in a secret. */
export function webhookKey(secret: string): Uint8Array {
  return Buffer.from(secret.slice('whsec_'.length), 'base64')
}

/** A queue for each webhook, so that a receiver that is away holds up its own alone. */
export function webhookQueueName(webhook: string): string {
  return `${QUEUE_PREFIX}${webhook}`
}

/** The webhook whose queue has this name; undefined for other queues. */
export function webhookOfQueue(queue: string): string | undefined {
  return queue.startsWith(QUEUE_PREFIX) ? queue.slice(QUEUE_PREFIX.length) : undefined
}
