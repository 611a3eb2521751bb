import * as z from 'zod'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { KINDS_OF_ROLE } from '../../shared/events/chain-event.ts'

/**
 * The form of a step in a job. The signature shows that this service made it; the schema finds what another version of it
 * made, or a fault of ours, before it costs a transaction. Details of the kinds are the sources' affair.
 */

const MOST_EVENTS = 500_000
const MOST_HEADERS = 100_000
const MOST_RANGES = 100_000

/** All texts of a step are bounded together, by MOST_INFLATED: the name of a Filecoin block alone has a CID for each miner. */
const text = z.string()
// A source may give a header where a block's name is enough.
const block = z.looseObject({ number: z.int(), hash: text })
const timed = block.extend({ timeS: z.int() })
const header = timed.extend({ parentHash: text })
const evidence = z.object({
  from: z.int(),
  to: z.int(),
  endpoint: text,
  check: z.enum(['bloom', 'second-endpoint', 'receipt-list', 'unchecked']),
})

const place = {
  blockNumber: z.int(),
  blockHash: text,
  blockTimeS: z.int(),
  txHash: text,
  logIndex: z.int(),
  txLogIndex: z.int(),
}
const contractEvent = { ...place, contract: text, role: z.enum(['erc20Loans', 'erc20CollateralLock']) }
const loanEvent = z.strictObject({
  ...contractEvent,
  kind: z.enum([...KINDS_OF_ROLE.erc20Loans, ...KINDS_OF_ROLE.erc20CollateralLock]),
  contractLoanId: text,
  loanId: text,
  args: z.record(text, text),
  terms: z.strictObject({
    values: z.record(text, text.nullable()),
    unknown: z.record(text, text).optional(),
  }),
  tokenDecimals: z.int().nullable(),
})
const undecodable = z.strictObject({
  ...contractEvent,
  kind: z.literal('Undecodable'),
  reason: text,
  topics: z.array(text).max(16),
  dataHead: text,
  dataBytes: z.int(),
})

const identity = z.strictObject({ asWritten: text, id: text.nullable(), robust: z.array(text).max(64) })
const message = { ...place, to: text, channel: text.nullable() }
const voucher = z.strictObject({
  key: text,
  text: text.nullable(),
  channelAddr: text,
  ...{ timeLockMin: text, timeLockMax: text, secretHash: text.nullable() },
  ...{ lane: text, nonce: text, amount: text, minSettleHeight: text },
  hasExtra: z.boolean(),
  merges: z.int(),
})
const channelEvents = [
  z.strictObject({
    ...message,
    kind: z.literal('CreateChannel'),
    ...{ channel: text, channelId: text, sender: identity, from: identity, recipient: identity },
    ...{ value: text, codeCid: text },
  }),
  z.strictObject({ ...message, kind: z.literal('FundChannel'), sender: identity, value: text }),
  z.strictObject({
    ...message,
    kind: z.literal('UpdateChannel'),
    ...{ sender: identity, voucher, secret: text.nullable(), value: text },
  }),
  z.strictObject({
    ...message,
    kind: z.literal('SettleChannel'),
    sender: identity,
    settlingAtEpoch: z.int(),
    settlingAtFrom: z.enum(['state', 'rule']),
    epochDurationS: z.number(),
    value: text,
  }),
  z.strictObject({ ...message, kind: z.literal('CollectChannel'), sender: identity }),
  z.strictObject({
    ...message,
    kind: z.literal('UndecodableMessage'),
    ...{ method: text, reason: text, paramsHead: text, paramsBytes: z.int() },
  }),
] as const
const event = z.discriminatedUnion('kind', [loanEvent, undecodable, ...channelEvents])

const blocks = {
  to: timed,
  headers: z.array(header).max(MOST_HEADERS),
  events: z.array(event).max(MOST_EVENTS),
  evidence: z.array(evidence).max(MOST_RANGES),
}
const schema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('blocks'), from: z.int(), after: block.nullable(), ...blocks }),
  z.strictObject({ type: z.literal('reorg'), ancestor: block, replaces: block, ...blocks }),
  z.strictObject({ type: z.literal('finalized'), block }),
])

/** The step, or the place and the reason where it is none; a reason quotes no value. */
export function parseStep(value: unknown): { ok: true; step: ChainStep } | { ok: false; reason: string } {
  const parsed = schema.safeParse(value)
  // Each kind's arguments are records here: their names are the sources' affair.
  if (parsed.success) return { ok: true, step: parsed.data as ChainStep }
  const [issue] = parsed.error.issues
  const path = (issue?.path ?? []).map(String).join('.').slice(0, 100)
  return {
    ok: false,
    reason: `${path === '' ? 'it' : path}: ${(issue?.message ?? 'malformed').slice(0, 200)}`,
  }
}
