import * as z from 'zod'
import type { FoundProvenance, LoggedEntry } from '../queries/provenance.ts'
import { PROOF_KINDS, weakestProof } from '../../shared/events/proof-kind.ts'
import { activityRecord } from './activity.ts'
import { isoTime } from './common.ts'

const FINALITIES = ['seen', 'safe', 'final'] as const
const OPS = ['append', 'replace', 'retract'] as const

export const recordParams = z.object({
  id: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'id must be the id of a record')
    .meta({ description: 'The `id` of a record', examples: ['1000000'] }),
})

const correction = z
  .strictObject({
    position: z.int().positive().meta({ description: 'Position in the log' }),
    op: z
      .enum(OPS)
      .meta({ description: 'append: it came; replace: it moved or says other; retract: it went' }),
    block: z.int().nullable().meta({ description: 'Block number or epoch at that time' }),
    hash: z.string().nullable().meta({ description: "That block's or tipset's hash" }),
    recordedAt: isoTime.meta({ description: 'When the log was written' }),
    cause: z.string().nullable().meta({ description: 'Why; null for the first entry' }),
  })
  .meta({ id: 'Correction', description: 'An entry of the log about this event' })

const payload = z.strictObject({
  record: activityRecord,
  source: z.enum(['chain', 'redemption', 'handed in', 'derived']).meta({
    description:
      'chain: a log or a message; redemption: a voucher that its redemption carried; handed in: a voucher that somebody handed in; derived: a voucher whose entry is not told here',
  }),
  way: z.string().nullable().meta({ description: 'How a voucher was handed in; null for chain events' }),
  network: z.string().nullable().meta({ description: 'The network that the fact was read from' }),
  block: z.int().nullable().meta({ description: 'Block number on EVM; null elsewhere' }),
  epoch: z.int().nullable().meta({ description: 'Epoch on Filecoin; null elsewhere' }),
  hash: z.string().nullable().meta({ description: "That block's or tipset's hash" }),
  index: z.int().nullable().meta({ description: 'Position of the log or message in its block' }),
  time: isoTime.nullable().meta({ description: "That block's time" }),
  finality: z.enum(FINALITIES).nullable().meta({
    description:
      'final: at or below the final block of the network; seen: above it; null off-chain. safe is not told yet',
  }),
  proof: z
    .strictObject({
      kind: z.enum(PROOF_KINDS).meta({
        description:
          "receipts: the logs are those of receipts whose root is in the block's header; state: equal to the contract's proven state; bloom: the block's bloom excludes what was not reported; two: two endpoints said the same; one: one endpoint's word",
      }),
      checks: z.array(z.string()).meta({ description: 'The checks of the range that was read' }),
    })
    .nullable()
    .meta({ description: 'How the range of the block was checked; null off-chain or where it is not known' }),
  readAt: isoTime.nullable().meta({ description: 'When that range was read last' }),
  position: z
    .int()
    .positive()
    .nullable()
    .meta({ description: 'Position in the log of the entry that holds now' }),
  history: z
    .array(correction)
    .meta({ description: 'All entries about this event, oldest first, at most 100' }),
})

export const provenanceAnswer = z.strictObject({ status: z.literal('OK'), payload }).meta({
  id: 'ProvenanceAnswer',
  description: 'A record, and how this service knows it',
  examples: [
    {
      status: 'OK',
      payload: {
        record: (activityRecord.meta()?.['examples'] as unknown[])[0],
        source: 'chain',
        way: null,
        network: 'evm:31337',
        block: 83,
        epoch: null,
        hash: '0x3f5c0d8a4c2b9e7f1d6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e',
        index: 0,
        time: '2026-11-21T17:48:46.000Z',
        finality: 'seen',
        proof: { kind: 'bloom', checks: ['bloom'] },
        readAt: '2026-11-21T17:48:47.630Z',
        position: 282,
        history: [
          {
            position: 282,
            op: 'append',
            block: 83,
            hash: '0x3f5c0d8a4c2b9e7f1d6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e',
            recordedAt: '2026-11-21T17:48:47.640Z',
            cause: null,
          },
        ],
      },
    },
  ],
})

/**
 * Says only what was checked: the weakest of a range's several checks, unless the log has how this event's own block was
 * proven.
 */
function proofOf(entry: LoggedEntry | null, range: FoundProvenance['range']): unknown {
  if (range === null && entry?.proof == null) return null
  const checks = range?.checks ?? []
  const told = [weakestProof(checks), entry?.proof ?? 'one']
  return { kind: PROOF_KINDS.find((kind) => told.includes(kind)) ?? 'one', checks }
}

/** The answer about a record that was found. */
export function provenanceOf({ record, own, visible, range, finalized }: FoundProvenance): unknown {
  const held = own.findLast(({ op }) => op !== 'retract')
  const entry = held ?? visible
  const source = sourceOf(held, visible)
  const isOnChain = entry !== null && source !== 'handed in' && source !== 'derived'
  const isEvm = entry?.network.startsWith('evm:') === true
  return {
    record,
    source,
    way: source === 'handed in' ? (visible?.way ?? null) : null,
    network: isOnChain ? entry.network : null,
    block: isOnChain && isEvm ? entry.block : null,
    epoch: isOnChain && !isEvm ? entry.block : null,
    hash: isOnChain ? entry.hash : null,
    index: isOnChain ? entry.index : null,
    time: isOnChain && entry.blockTimeS !== null ? new Date(entry.blockTimeS * 1000).toISOString() : null,
    finality: held === undefined ? null : finalized !== null && held.block <= finalized ? 'final' : 'seen',
    proof: proofOf(held ?? null, range),
    readAt: range?.readAt ?? null,
    position: held?.position ?? visible?.position ?? null,
    history: own.map(({ position, op, block, hash, recordedAt, cause }) => ({
      ...{ position, op, block, hash, recordedAt, cause },
    })),
  }
}

/** A voucher has no event of its own: it came by its redemption, or was handed in. */
function sourceOf(held: LoggedEntry | undefined, visible: LoggedEntry | null): string {
  if (held !== undefined) return 'chain'
  if (visible?.kind === 'UpdateChannel') return 'redemption'
  return visible?.kind === 'SignedVoucher' ? 'handed in' : 'derived'
}
