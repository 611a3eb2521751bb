import type { EvmNetwork } from '../../../shared/config/networks.ts'
import { createEvmSource, type EvmSourceOptions } from '../../../indexer/sources/evm/evm-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import type { LittleChain } from './little-chain.ts'
import type { StepIndex } from './step-index.ts'

export interface CatchUpOptions extends EvmSourceOptions {
  network?: EvmNetwork
  problems?: string[]
  signal?: AbortSignal
}

/** Applies steps until the index stands at the chain's head as the node itself has it, then stops. */
export async function catchUp(
  chain: LittleChain,
  index: StepIndex,
  options: CatchUpOptions = {},
): Promise<void> {
  const source = createEvmSource(options.network ?? chain.network(), options)
  const stop = new AbortController()
  const end = (): void => stop.abort()
  options.signal?.addEventListener('abort', end)
  const target = (await chain.rpc('eth_getBlockByNumber', 'latest', false)) as { hash: string }
  try {
    for await (const step of followChain(source, index.resumePoint(), {
      signal: stop.signal,
      onProblem: (message) => options.problems?.push(message),
      onHead: () => index.position?.hash === target.hash && stop.abort(),
    })) {
      index.apply(step)
    }
  } finally {
    options.signal?.removeEventListener('abort', end)
    await source.close()
  }
}
