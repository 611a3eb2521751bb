import { readFileSync } from 'node:fs'
import * as z from 'zod'

/** Public Filecoin data with its published hashes; each entry of the files names its source. */

const STORED = z.object({ cid: z.string(), cbor: z.string() })

const HEADERS = z.object({
  headers: z.array(
    z.object({
      cid: z.string().optional(),
      cidComputed: z.string().optional(),
      cbor: z.string(),
      json: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
})
const MESSAGES = z.object({
  messages: z.array(STORED.extend({ kind: z.string(), json: z.record(z.string(), z.unknown()).optional() })),
  blocks: z.array(
    z.object({
      height: z.number(),
      block: z.string(),
      messages: z.string(),
      blsRoot: z.string(),
      secpRoot: z.string(),
      bls: z.array(STORED),
      secp: z.array(STORED),
    }),
  ),
})
const RECEIPT = z.object({
  ExitCode: z.number(),
  Return: z.string().nullable(),
  GasUsed: z.number(),
  cbor: z.string(),
})
const RECEIPTS = z.object({ lists: z.array(z.object({ root: z.string(), receipts: z.array(RECEIPT) })) })

const F3 = z.object({
  tables: z.array(
    z.object({
      cid: z.string(),
      entries: z.array(z.tuple([z.number(), z.string(), z.string()])),
      scaledTotal: z.number(),
      scaledFirst: z.array(z.number()),
    }),
  ),
  blake2xs: z.object({ vectors: z.array(z.object({ input: z.string(), output: z.string() })) }),
  coefficients: z.object({
    vectors: z.array(
      z.object({
        table: z.string(),
        keys: z.number(),
        coefficients: z.array(z.string()),
        xofKeccak256: z.string(),
        aggregateOfFirstThree: z.string().optional(),
      }),
    ),
  }),
  certificates: z.array(
    z.object({
      network: z.string(),
      certificate: z.unknown(),
      payloadToSign: z.string(),
      chainRoot: z.string(),
      signers: z.array(z.number()),
    }),
  ),
  snapshotHeader: z.object({ cbor: z.string() }),
})

export const headerVectors = () =>
  read('filecoin-headers', HEADERS).headers.map(({ cid, cidComputed = '', cbor, json }) => ({
    cid: cid ?? cidComputed,
    cbor,
    json: json === undefined ? undefined : (withBigNumbers(json) as Record<string, unknown>),
  }))
export const messageVectors = () => read('filecoin-message-roots', MESSAGES)
export const receiptVectors = () => read('filecoin-receipts', RECEIPTS).lists
export const f3Vectors = () => read('f3', F3)

export function base64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'))
}

/** The files write numbers above 2^53 as text, where Lotus writes bare numbers. */
function withBigNumbers(json: unknown, name = ''): unknown {
  if (typeof json === 'string') return BARE.has(name) ? BigInt(json) : json
  if (Array.isArray(json)) return json.map((item) => withBigNumbers(item))
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, withBigNumbers(value, key)]))
}
const BARE = new Set(['Height', 'Timestamp', 'ForkSignaling', 'Round', 'WinCount', 'PoStProof'])

function read<T>(name: string, schema: z.ZodType<T>): T {
  const file = new URL(`../fixtures/proof/${name}.json`, import.meta.url)
  return schema.parse(JSON.parse(readFileSync(file, 'utf8')))
}
