import type { BlockHeader, BlockRef } from '../shared/events/chain-step.ts'
import type { NetworkState } from '../shared/db/schema.ts'

/** What this process knows of one network right now: for the status table, readiness and metrics. */
export interface NetworkHealth {
  readonly network: string
  readonly blockchain: string
  readonly networkId: string
  state: NetworkState
  /** What is wrong, in one line; null when nothing is. */
  problem: string | null
  head: BlockHeader | null
  finalized: BlockRef | null
  /** The last block that was written; null before the first. */
  indexed: BlockRef | null
  queueWaiting: number | null
  queueFailed: number | null
  workerHealthy: boolean
  counts: {
    steps: number
    reorgs: number
    events: number
    undecodable: number
    retries: number
    restarts: number
  }
}

export function newNetworkHealth(identity: {
  network: string
  blockchain: string
  networkId: string
}): NetworkHealth {
  return {
    ...identity,
    state: 'starting',
    problem: null,
    head: null,
    finalized: null,
    indexed: null,
    queueWaiting: null,
    queueFailed: null,
    workerHealthy: true,
    counts: { steps: 0, reorgs: 0, events: 0, undecodable: 0, retries: 0, restarts: 0 },
  }
}
