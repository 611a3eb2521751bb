import type { BlockHeader, BlockRef } from '../shared/events/chain-step.ts'
import type { NetworkState } from '../shared/db/schema.ts'

/** What was handed in, by outcome, since this process started; and the jobs that wait in the voucher queue. */
export interface HandedInCounts {
  accepted: number
  known: number
  waiting: number
  refused: number
  queued: number
}

/** What this process knows of one network right now: for the status table, readiness and metrics. */
export interface NetworkHealth {
  readonly network: string
  readonly blockchain: string
  readonly networkId: string
  readonly state: NetworkState
  /** What is wrong, in one line; null when nothing is. */
  readonly problem: string | null
  /** Whether this process is the network's one writer: then nobody else tells how it is. */
  leads: boolean
  /** Enters a state; whoever tells of it hears of a change at once. */
  become: (state: NetworkState, problem: string | null) => void
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
  /** Null where nothing is signed off-chain: on EVM chains. */
  handedIn: HandedInCounts | null
}

/** A network that is starting; `onChange` is called whenever its state or its problem becomes another. */
export function newNetworkHealth(
  identity: { network: string; blockchain: string; networkId: string },
  onChange: () => void = () => undefined,
): NetworkHealth {
  const health: NetworkHealth & { state: NetworkState; problem: string | null } = {
    ...identity,
    state: 'starting',
    problem: null,
    leads: false,
    become: (state, problem) => {
      if (health.state === state && health.problem === problem) return
      health.state = state
      health.problem = problem
      onChange()
    },
    head: null,
    finalized: null,
    indexed: null,
    queueWaiting: null,
    queueFailed: null,
    workerHealthy: true,
    counts: { steps: 0, reorgs: 0, events: 0, undecodable: 0, retries: 0, restarts: 0 },
    handedIn: identity.network.startsWith('filecoin:')
      ? { accepted: 0, known: 0, waiting: 0, refused: 0, queued: 0 }
      : null,
  }
  return health
}
