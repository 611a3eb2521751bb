import { readFileSync } from 'node:fs'
import * as z from 'zod'

/** Published headers, receipts and state proofs of real chains; each entry of the files names its source. */

const FIELDS = z.record(z.string(), z.unknown())
const HEADERS = z.object({
  headers: z.array(
    z.object({ chain: z.string(), fork: z.string().nullable(), follows: z.boolean(), header: FIELDS }),
  ),
})
const RECEIPTS = z.object({
  blocks: z.array(
    z.object({
      ...{ chain: z.string(), shows: z.string(), headerFollows: z.boolean(), rootFollows: z.boolean() },
      ...{ header: FIELDS, receipts: z.array(FIELDS) },
    }),
  ),
})
const PROOFS = z.object({
  proofs: z.array(
    z.object({
      shows: z.string(),
      stateRoot: z.string(),
      header: FIELDS.optional(),
      proof: z.object({
        address: z.string(),
        accountProof: z.array(z.string()),
        storageProof: z.array(z.object({ key: z.string(), value: z.string(), proof: z.array(z.string()) })),
      }),
    }),
  ),
})

export type EvmHeaderVector = z.infer<typeof HEADERS>['headers'][number]
export type EvmReceiptsVector = z.infer<typeof RECEIPTS>['blocks'][number]
export type EvmProofVector = z.infer<typeof PROOFS>['proofs'][number]

export function readEvmHeaders(): EvmHeaderVector[] {
  return HEADERS.parse(read('evm-headers.json')).headers
}

export function readEvmReceipts(): EvmReceiptsVector[] {
  return RECEIPTS.parse(read('evm-receipts.json')).blocks
}

export function readEvmProofs(): EvmProofVector[] {
  return PROOFS.parse(read('evm-proofs.json')).proofs
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../fixtures/proof/${name}`, import.meta.url), 'utf8'))
}
