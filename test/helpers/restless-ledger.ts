import { raiseEpoch } from '../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../indexer/ingest/ingest-step.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { BlockHeader, BlockRef, ChainStep } from '../../shared/events/chain-step.ts'
import { EVM, FILECOIN, handIn } from './ingest-ledger.ts'
import { seededRandom } from './random-chain.ts'
import { channelAddress, person, type TwoChains } from './two-chain-stories.ts'

type Random = ReturnType<typeof seededRandom>

/**
 * The same blocks on a branch that does not last: other parties, other IDs, some things did not happen, and channels
 * were made that never are again.
 */
export function otherBranch(events: ChainEvent[], random: Random): ChainEvent[] {
  return events
    .filter(() => random.chance(0.7))
    .flatMap((event) => (random.chance(0.5) ? [event, ...neverAgain(event)] : [event]))
    .map((event): ChainEvent => {
      const place = { blockHash: `${event.blockHash}-left` }
      if (event.kind === 'CreateChannel') {
        const swap = random.chance(0.5)
        const [from, recipient] = swap ? [event.recipient, event.from] : [event.from, event.recipient]
        return { ...event, ...place, from, recipient, channelId: `t0${1_000_000 + random.below(60)}` }
      }
      if (event.kind !== 'CreateLoanOffer') return { ...event, ...place }
      const { values } = event.terms
      const filLender = `0x${Buffer.from(person(`person ${random.below(4)}`).asWritten).toString('hex')}`
      return { ...event, ...place, terms: { values: { ...values, filLender } } }
    })
}

function neverAgain(event: ChainEvent): ChainEvent[] {
  if (event.kind !== 'CreateChannel') return []
  const txHash = `${event.txHash}-left`
  return [{ ...event, txHash, channel: channelAddress(txHash) }]
}

/** Blocks that a step wrote, as they stood after it. */
export interface Written {
  network: string
  from: number
  to: number
}

/**
 * One ledger's events as steps of a few blocks each, to be written one after the other; with `unrest` it goes now and
 * then along a branch that the next step leaves.
 */
export async function openLedger(
  db: Db,
  identity: typeof EVM,
  events: ChainEvent[],
  random: Random,
  unrest: number,
  onWritten: (blocks: Written) => void = () => undefined,
) {
  const epoch = await raiseEpoch(db, identity.network, 'writer', { startNumber: 0, watched: {} })
  let after: BlockRef | null = null
  let written = 0
  let left: { to: BlockHeader; batch: ChainEvent[]; replaces: BlockRef } | null = null

  async function write(step: Exclude<ChainStep, { type: 'finalized' }>): Promise<void> {
    const outcome = await ingestStep(db, identity, epoch, step)
    if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
    onWritten({
      network: identity.network,
      from: step.type === 'blocks' ? step.from : step.ancestor.number + 1,
      to: step.to.number,
    })
  }

  function next(): { to: BlockHeader; batch: ChainEvent[] } | undefined {
    const last = events[Math.min(events.length - 1, written + random.below(4))]
    if (last === undefined || written >= events.length) return undefined
    const batch = events.slice(written).filter(({ blockNumber }) => blockNumber <= last.blockNumber)
    const to = { number: last.blockNumber, hash: last.blockHash, parentHash: '', timeS: last.blockTimeS }
    return { to, batch }
  }

  function arrive(to: BlockHeader, batch: ChainEvent[]): void {
    written += batch.length
    after = { number: to.number, hash: to.hash }
  }

  return {
    isDone: () => written >= events.length,
    writeSome: async (): Promise<void> => {
      if (left !== null && after !== null) {
        const { to, batch, replaces } = left
        const step = { to, headers: [to], events: batch, evidence: [] }
        await write({ type: 'reorg', ancestor: after, replaces, ...step })
        left = null
        arrive(to, batch)
        return
      }
      const here = next()
      if (here === undefined) return
      const blocks = {
        type: 'blocks' as const,
        from: after === null ? 0 : after.number + 1,
        after,
        evidence: [],
      }
      if (after !== null && random.chance(unrest)) {
        const to = { ...here.to, hash: `${here.to.hash}-left` }
        await write({ ...blocks, to, headers: [to], events: otherBranch(here.batch, random) })
        left = { ...here, replaces: { number: to.number, hash: to.hash } }
        return
      }
      await write({ ...blocks, to: here.to, headers: [here.to], events: here.batch })
      arrive(here.to, here.batch)
    },
  }
}

/** Writes stories step by step, one ledger or the other at a time as the seed says; `first` is written whole before. */
export async function ingestInSomeOrder(
  db: Db,
  chains: TwoChains,
  seed: number,
  { first, unrest = 0 }: { first?: 'evm' | 'filecoin' | undefined; unrest?: number } = {},
): Promise<void> {
  const random = seededRandom(seed)
  const evm = await openLedger(db, EVM, chains.evm, random, unrest)
  const filecoin = await openLedger(db, FILECOIN, chains.filecoin, random, unrest)
  const offchain = [...chains.offchain].sort(() => (random.chance(0.5) ? 1 : -1))
  if (first === 'evm') while (!evm.isDone()) await evm.writeSome()
  if (first === 'filecoin') while (!filecoin.isDone()) await filecoin.writeSome()
  while (!evm.isDone() || !filecoin.isDone() || offchain.length > 0) {
    const event = random.chance(0.3) ? offchain.pop() : undefined
    if (event !== undefined) await handIn(db, [event])
    else if (random.chance(0.5) ? !evm.isDone() : filecoin.isDone()) await evm.writeSome()
    else if (!filecoin.isDone()) await filecoin.writeSome()
  }
  for (const event of chains.offchain.slice(0, 2)) await handIn(db, [event])
}
