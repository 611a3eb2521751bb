import * as z from 'zod'
import { PROBLEM_KINDS } from '../../shared/indexing-health.ts'

const height = z.int().nullable()

const networkHealth = z.strictObject({
  network: z.string(),
  blockchain: z.string().nullable(),
  networkId: z.string().nullable(),
  state: z.string(),
  problem: z.string().nullable(),
  problemKind: z.enum(PROBLEM_KINDS).nullable(),
  head: height,
  indexed: height,
  finalized: height,
  lagBlocks: height,
  lagSeconds: z.number().nullable(),
  synced: z.boolean(),
  note: z.string(),
  queueWaiting: height,
  queueFailed: height,
})

export const statusAnswer = z.strictObject({
  status: z.literal('OK'),
  payload: z.strictObject({ version: z.string(), records: z.int(), networks: z.array(networkHealth) }),
})

export const livenessAnswer = z.strictObject({ status: z.literal('OK') })

/** The same body for 200 and 503; without `payload` when the database is away. */
export const readinessAnswer = z.strictObject({
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
