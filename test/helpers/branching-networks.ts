import type { Test } from 'tap'
import {
  finalInEpochs,
  serveSyntheticChain,
  type ServedChain,
  type View,
} from '../../bench/synthetic-evm/serve-chain.ts'
import { syntheticNetwork } from '../../bench/synthetic-evm/synthetic-node.ts'
import { SyntheticChain } from '../../bench/synthetic-evm/synthetic-chain.ts'
import type { Db } from '../../shared/db/connect.ts'
import { seededRandom } from './random-chain.ts'

const FIRST_CHAIN_ID = 41_001
/** Both branches share their blocks up to here. The final block is at most this one while the head is below 480. */
const FORK_AFTER = 400
const LAST_HEAD = 478
/** Blocks that the chain may be ahead of the index: enough for several steps in the queue. */
const MOST_AHEAD = 4
const SHAPE = { events: 2_400, blocks: 480, strangerLogs: 1 }

/** A chain of two branches whose head the test moves. */
export class BranchingNetwork {
  readonly network: string
  readonly #served: ServedChain
  readonly #branches: Record<View['branch'], SyntheticChain>
  readonly #random: ReturnType<typeof seededRandom>
  #view: View = { branch: 'main', head: FORK_AFTER + 2 }

  constructor(served: ServedChain, chainId: number, seed: number) {
    this.network = `evm:${chainId}`
    this.#served = served
    this.#branches = {
      main: new SyntheticChain(SHAPE, seed),
      other: new SyntheticChain(SHAPE, seed, FORK_AFTER),
    }
    this.#random = seededRandom(seed)
    this.#served.show(this.#view)
  }

  get head(): { number: number; hash: string } {
    const { branch, head } = this.#view
    return { number: head, hash: this.#branches[branch].hashOf(head) }
  }

  /** One block more, on the same branch or, by chance, as a reorganization. */
  advance(): void {
    if (this.#view.head >= LAST_HEAD) throw new Error('the chain has no more blocks')
    const other = this.#view.branch === 'main' ? 'other' : 'main'
    const branch = this.#random.chance(0.3) ? other : this.#view.branch
    this.#view = { branch, head: this.#view.head + 1 }
    this.#served.show(this.#view)
  }

  async isClose(db: Db): Promise<boolean> {
    return this.#view.head - ((await positionOf(db, this.network))?.number ?? 0) <= MOST_AHEAD
  }

  /** The head is written, and so is its finality, which a writer that was killed may have left in the queue. */
  async isIndexed(db: Db): Promise<boolean> {
    const position = await positionOf(db, this.network)
    return position?.hash === this.head.hash && position.finalized_number === finalInEpochs(this.head.number)
  }
}

export async function positionOf(
  db: Db,
  network: string,
): Promise<{ number: number | null; hash: string | null; finalized_number: number | null } | undefined> {
  return db
    .selectFrom('ledger.chain_position')
    .select(['number', 'hash', 'finalized_number'])
    .where('network', '=', network)
    .executeTakeFirst()
}

/** Serves `count` such chains until the end of the test; `file` is the networks file for them. */
export async function branchingNetworks(
  t: Test,
  count: number,
): Promise<{ networks: BranchingNetwork[]; file: object }> {
  const parts = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const [chainId, seed] = [FIRST_CHAIN_ID + index, index + 1]
      const served = await serveSyntheticChain({
        ...{ shape: SHAPE, seed, chainId, forkAfter: FORK_AFTER, finality: 'epochs' },
      })
      t.teardown(() => served.close())
      const network = new BranchingNetwork(served, chainId, seed)
      const { parties } = new SyntheticChain(SHAPE, seed)
      // Small ranges, so that a backfill is many steps.
      const more = {
        ...{ networkId: String(chainId), wsUrl: served.wsUrl, pollIntervalMs: 50, maxBlockRange: 20 },
      }
      return { network, configured: syntheticNetwork(served.url, parties, more, `n${index}`) }
    }),
  )
  return {
    networks: parts.map(({ network }) => network),
    file: { evm: parts.map(({ configured }) => configured) },
  }
}
