import type { Test } from 'tap'
import type { FilecoinNetwork } from '../../../shared/config/networks.ts'
import {
  createFilecoinSource,
  type FilecoinSource,
} from '../../../indexer/sources/filecoin/filecoin-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import type { SourceOptions } from '../../../indexer/sources/rpc/rpc-client.ts'
import type { DevChain, Lotus } from '../../../devnet/filecoin/lotus.ts'
import type { StepIndex } from '../sources/step-index.ts'
import { chainLines, eventLines, keyAt } from './chain-truth.ts'

export function networkOf(
  lotus: Pick<Lotus, 'url'>,
  changes: Partial<FilecoinNetwork> = {},
): FilecoinNetwork {
  return {
    networkId: 'testnet',
    rpcUrls: [lotus.url],
    token: null,
    startEpoch: 0,
    confidence: 0,
    pollIntervalMs: 20,
    readVoucherStore: true,
    ...changes,
  }
}

/** The newest tipset that was executed: the head's parent. */
export function newestHeight(chain: DevChain): number {
  return chain.head().parent?.height ?? 0
}

export interface CatchUpOptions extends SourceOptions {
  network?: FilecoinNetwork
  source?: FilecoinSource
  problems?: string[]
}

/** Seconds of work, which a busy machine makes a minute of. */
const LONGEST_MS = 120_000

/** Applies steps until the index stands where the chain itself does, then stops. */
export async function catchUp(lotus: Lotus, index: StepIndex, options: CatchUpOptions = {}): Promise<void> {
  const source = options.source ?? createFilecoinSource(options.network ?? networkOf(lotus), options)
  const target = keyAt(lotus.chain, newestHeight(lotus.chain))
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), LONGEST_MS)
  try {
    for await (const step of followChain(source, index.resumePoint(), {
      signal: stop.signal,
      onProblem: (message) => options.problems?.push(message),
      onHead: ({ head }) => head.hash === target && index.position?.hash === target && stop.abort(),
    })) {
      index.apply(step)
    }
  } finally {
    clearTimeout(timer)
    if (options.source === undefined) await source.close()
  }
}

/** The steps' chain is the node's own up to the index's position, message by message. */
export function sameAsChain(t: Test, index: StepIndex, { chain }: Lotus, what: string): void {
  const height = index.position?.number ?? -1
  t.equal(height, newestHeight(chain), `${what}: up to the newest executed tipset`)
  t.equal(index.position?.hash, keyAt(chain, height), `${what}: tipset ${height} is the chain's`)
  t.same(eventLines(index.events), chainLines(chain, height), `${what}: ${index.events.length} events`)
}
