import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { createRpc, quantity } from '../../devnet/evm/rpc.ts'
import { createLotusRpc, tipsetSchema } from '../../devnet/loans/lotus-rpc.ts'
import type { Stage } from './stage.ts'

/** How long it took from the end of a fault until the service was up to date. */
export interface Recovery {
  /** The fault. */
  after: string
  /** Null: it was not within the patience. */
  seconds: number | null
}

const POLL_MS = 50

const statusAnswer = z.object({
  payload: z.object({ networks: z.array(z.object({ network: z.string(), indexed: z.number().nullable() })) }),
})

/**
 * Seconds until the API says that it has, of both networks, a block that was made after this call: only then nothing
 * that the fault touched is in between any more. Somebody must go on making blocks. Null: the signal came first.
 */
export async function untilUpToDate(stage: Stage, signal: AbortSignal): Promise<number | null> {
  const since = performance.now()
  const old = await heads(stage)
  while (!isAborted(signal)) {
    const indexed = await indexedBlocks(stage.apiUrl)
    if ([...old].every(([network, number]) => (indexed.get(network) ?? -1) > number)) {
      return (performance.now() - since) / 1000
    }
    await sleep(POLL_MS)
  }
  return null
}

/** A function, for the compiler takes a flag that it saw once for one that never changes. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}

async function heads({ anvil, lotus }: Stage): Promise<Map<string, number>> {
  const head = await createLotusRpc(lotus.url).call(tipsetSchema, 'ChainHead')
  return new Map([
    ['evm:31337', await createRpc(anvil.url).call(quantity, 'eth_blockNumber')],
    ['filecoin:testnet', head.Height],
  ])
}

/** Nothing where the API does not answer. */
async function indexedBlocks(apiUrl: string): Promise<Map<string, number>> {
  try {
    const response = await fetch(`${apiUrl}/api/status`, { signal: AbortSignal.timeout(5_000) })
    if (!response.ok) return new Map()
    const { payload } = statusAnswer.parse(await response.json())
    return new Map(payload.networks.map(({ network, indexed }) => [network, indexed ?? -1]))
  } catch {
    return new Map()
  }
}
