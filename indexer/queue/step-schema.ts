import * as z from 'zod'
import { FORMER_CHECKS, type ChainStep } from '../../shared/events/chain-step.ts'
import { KINDS_OF_ROLE } from '../../shared/events/chain-event.ts'
import { PROOF_KINDS } from '../../shared/events/proof-kind.ts'

/**
 * The form of a step in a job. The signature shows that this service made it. The schema finds a step of another version, or a
 * bug, before a transaction begins.
 */

const MOST_EVENTS = 500_000
const MOST_HEADERS = 100_000
const MOST_RANGES = 100_000

/** Unbounded: MOST_INFLATED limits the whole step, and the key of a Filecoin tipset has a CID for each block. */
const text = z.string()
// A source may give a header instead of number and hash alone.
const block = z.looseObject({ number: z.int(), hash: text })
const timed = block.extend({ timeS: z.int() })
const header = timed.extend({ parentHash: text })
const evidence = z.object({
  from: z.int(),
  to: z.int(),
  endpoint: text,
  check: z.enum([...PROOF_KINDS, 'receipt-list', ...FORMER_CHECKS]),
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
    // A voucher may defer settlement to epoch 2^63 - 1, beyond the safe integers.
    settlingAtEpoch: z.number(),
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

/** Returns the step, or the place and the reason why it is none. A reason quotes no value. */
export function parseStep(value: unknown): { ok: true; step: ChainStep } | { ok: false; reason: string } {
  const parsed = schema.safeParse(value)
  // The schema does not know the names of each kind's arguments.
  if (parsed.success) return { ok: true, step: parsed.data as ChainStep }
  const [issue] = parsed.error.issues
  const path = (issue?.path ?? []).map(String).join('.').slice(0, 100)
  return {
    ok: false,
    reason: `${path === '' ? 'it' : path}: ${(issue?.message ?? 'malformed').slice(0, 200)}`,
  }
}
