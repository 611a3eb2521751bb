import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { BLOCKCHAIN } from './expected-loans.ts'
import type { Parties } from './parties.ts'
import { serveSyntheticChain, type NodeSpec, type View } from './serve-chain.ts'
import { CHAIN_ID } from './synthetic-chain.ts'

/** A node in a process of its own, which keeps its cost out of the measurement. */
export interface NodeProcess {
  pid: number
  url: string
  wsUrl: string
  /** Sets the visible chain; resolves with the time of the notification, on the clock of `monotonicMs`. */
  show: (view: View) => Promise<number>
  stop: () => void
}

const addressesSchema = z.object({ url: z.string(), wsUrl: z.string() })
const toldSchema = z.object({ toldMs: z.number() })

/** The program that {@link startNode} runs; ends with its parent. */
export async function runSyntheticNode(spec: NodeSpec): Promise<void> {
  const { url, wsUrl, show } = await serveSyntheticChain(spec)
  process.on('disconnect', () => process.exit())
  process.on('message', (view: View) => process.send?.({ toldMs: show(view) }))
  process.send?.({ url, wsUrl })
}

export async function startNode(spec: NodeSpec): Promise<NodeProcess> {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  const child = fork(main, ['synthetic-evm', JSON.stringify(spec)], {
    execArgv: ['--import', 'tsx', '--no-warnings', '--max-old-space-size=4096'],
  })
  const gone = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`the node ended with code ${code ?? 'none'}`)))
  })
  // The caller that awaits an answer handles the error.
  gone.catch(() => undefined)
  const answer = (): Promise<unknown> =>
    Promise.race([gone, new Promise((resolve) => child.once('message', resolve))])
  const addresses = addressesSchema.parse(await answer())
  const show = async (view: View): Promise<number> => {
    const told = answer()
    child.send(view, () => undefined)
    return toldSchema.parse(await told).toldMs
  }
  return { ...addresses, pid: child.pid ?? 0, show, stop: () => child.kill() }
}

/** Returns several URLs of the one node, for indexers with several endpoints. */
export function namesOf(url: string, names: number): string[] {
  return Array.from({ length: names }, (_, index) => `${url}/${index}`)
}

/**
 * Returns the networks file's part for such a chain, with `more` added. Only one of several networks may lack an
 * `idPrefix`.
 */
export function syntheticNetwork(
  rpcUrl: string,
  { contracts }: Parties,
  more: object = {},
  idPrefix: string | null = null,
): object {
  const deployed = (address: string): object => ({ address, startBlock: 1, idPrefix })
  return {
    blockchain: BLOCKCHAIN,
    networkId: String(CHAIN_ID),
    rpcUrls: [rpcUrl],
    erc20Loans: deployed(contracts.erc20Loans),
    erc20CollateralLock: deployed(contracts.erc20CollateralLock),
    ...more,
  }
}
