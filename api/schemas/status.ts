import * as z from 'zod'
import { PROOF_KINDS, type ProofKind } from '../../shared/events/proof-kind.ts'
import { PROBLEM_KINDS } from '../../shared/indexing-health.ts'

type ProofCounts = Record<ProofKind, z.ZodOptional<z.ZodInt>>

const height = (description: string) => z.int().nullable().meta({ description })

const HEALTH = {
  network: 'evm:31337',
  blockchain: 'DEVNET',
  networkId: '31337',
  explorer: null,
  state: 'following',
  reader: 'following',
  writer: 'following',
  problem: null,
  problemKind: null,
  head: 83,
  indexed: 83,
  finalized: 19,
  lagBlocks: 0,
  lagSeconds: 0,
  synced: true,
  note: 'at the head',
  queueWaiting: 0,
  queueFailed: 0,
  proof: {
    from: 1,
    to: 83,
    missing: 0,
    blocks: { receipts: 12, bloom: 71 },
    stateAt: 64,
    certificateAt: null,
  },
}

const explorer = z
  .strictObject({
    transaction: z.string().nullable().meta({ description: 'Has `{transaction}` once' }),
    address: z.string().nullable().meta({ description: 'Has `{address}` once' }),
  })
  .nullable()
  .meta({ description: "https addresses of the network's block explorer, as configured" })

const blocksOf = z.int().optional()
const proof = z
  .strictObject({
    from: z.int().meta({ description: 'First block that was read' }),
    to: z.int().meta({ description: 'Last block that was read' }),
    missing: z.int().meta({ description: 'Blocks between them that were not read' }),
    blocks: z
      .strictObject(Object.fromEntries(PROOF_KINDS.map((kind) => [kind, blocksOf])) as ProofCounts)
      .meta({ description: 'Blocks by the kind of proof; kinds without a block are left out' }),
    stateAt: height('Each loan was proven equal to contract state at this block, or at a later final one'),
    certificateAt: height('Epoch up to which a certificate of F3 proves the index final'),
  })
  .nullable()
  .meta({ description: 'How the blocks that were read were proven; null before the first' })

const networkHealth = z
  .strictObject({
    network: z.string().meta({ description: "This service's name of the network" }),
    blockchain: z.string().nullable().meta({ description: "The chain's configured name" }),
    networkId: z.string().nullable().meta({ description: 'EVM chain id, or the Filecoin network' }),
    explorer,
    state: z.string().meta({
      description: 'starting, following, retrying, stopped, standby, unobserved or not followed',
    }),
    reader: z.string().meta({ description: 'The same of the process that reads the network' }),
    writer: z.string().meta({ description: 'The same of the process that writes it' }),
    problem: z.string().nullable().meta({ description: 'A fixed sentence; null without a problem' }),
    problemKind: z.enum(PROBLEM_KINDS).nullable().meta({ description: 'The part that fails' }),
    head: height('Newest block or epoch to index'),
    indexed: height('Last block or epoch that is indexed'),
    finalized: height('Last block or epoch that is final'),
    lagBlocks: height('Blocks between indexed and head'),
    lagSeconds: z.number().nullable().meta({ description: "Seconds between them, by the chain's clock" }),
    synced: z.boolean().meta({ description: 'The verdict of /readyz for this network' }),
    note: z.string().meta({ description: 'Why it is synced or not, in one line' }),
    queueWaiting: height('Jobs that wait'),
    queueFailed: height('Jobs that failed'),
    proof,
  })
  .meta({ id: 'NetworkHealth', description: 'How far one network is indexed', examples: [HEALTH] })

export const statusAnswer = z
  .strictObject({
    status: z.literal('OK'),
    payload: z.strictObject({
      version: z.string().meta({ description: 'The version of this service' }),
      records: z.int().meta({ description: 'Activity records in the index' }),
      networks: z.array(networkHealth),
    }),
  })
  .meta({
    id: 'StatusAnswer',
    description: 'Every network that is followed or was indexed',
    examples: [{ status: 'OK', payload: { version: '0.2.0', records: 287, networks: [HEALTH] } }],
  })

export const livenessAnswer = z
  .strictObject({ status: z.literal('OK') })
  .meta({ id: 'LivenessAnswer', description: 'This process lives', examples: [{ status: 'OK' }] })

const { network, state, synced, note } = HEALTH

/** The same body for 200 and 503; without `payload` when the database is away. */
export const readinessAnswer = z
  .strictObject({
    status: z.enum(['OK', 'ERROR']),
    message: z.string(),
    payload: z
      .strictObject({
        networks: z.array(
          z.strictObject({ network: z.string(), state: z.string(), synced: z.boolean(), note: z.string() }),
        ),
      })
      .optional(),
  })
  .meta({
    id: 'ReadinessAnswer',
    description: 'Every followed network is fresh',
    examples: [
      {
        status: 'OK',
        message: 'every network is fresh',
        payload: { networks: [{ network, state, synced, note }] },
      },
    ],
  })
