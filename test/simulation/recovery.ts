import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { createRpc, quantity } from '../../devnet/evm/rpc.ts'
import { createLotusRpc, tipsetSchema } from '../../devnet/loans/lotus-rpc.ts'
import type { Stage } from './stage.ts'

/** The time from the end of a fault until the service was up to date. */
export interface Recovery {
  /** The fault. */
  after: string
  /** Null: not within the patience. */
  seconds: number | null
}

const POLL_MS = 50

const statusAnswer = z.object({
  payload: z.object({ networks: z.array(z.object({ network: z.string(), indexed: z.number().nullable() })) }),
})

/**
 * Returns the seconds until the API reports a newer block than this call for both networks, so that nothing the fault
 * touched remains in between. New blocks must keep coming. Null: the signal came first.
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

/** A function avoids TypeScript's narrowing of `signal.aborted`. */
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

/** Empty when the API does not answer. */
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
