import { readFileSync } from 'node:fs'
import * as z from 'zod'

/** Published messages of the chain and of its reference implementations, with their results. */
export interface FilecoinVector {
  name: string
  messages: Uint8Array[]
  receipts: { exitCode: number; return: Uint8Array }[]
}

const FILE = z.object({
  vectors: z.array(
    z.object({
      name: z.string(),
      messages: z.array(z.string()),
      receipts: z.array(z.object({ exitCode: z.number(), return: z.string() })),
    }),
  ),
})

export function readFilecoinVectors(): FilecoinVector[] {
  const file = new URL('../fixtures/filecoin/filecoin-messages.json', import.meta.url)
  return FILE.parse(JSON.parse(readFileSync(file, 'utf8'))).vectors.map(({ name, messages, receipts }) => ({
    name,
    messages: messages.map(fromBase64),
    receipts: receipts.map((receipt) => ({ exitCode: receipt.exitCode, return: fromBase64(receipt.return) })),
  }))
}

function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'))
}
