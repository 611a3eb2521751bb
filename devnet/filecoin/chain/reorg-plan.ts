import { sameAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import type { Random } from '../../evm/random.ts'
import type { ReadyMessages } from './message-pool.ts'
import { shuffled } from './block-plans.ts'
import type { Tipset } from './tipset.ts'

/** Differences of the new branch; the chain's seed determines all of them. */
export interface ReorgOptions {
  /** The probability that a message is left out; it then waits for later tipsets. */
  drop?: number
  /** Runs senders in the opposite order, so that new actors get other IDs. */
  reorder?: boolean
  /**
   * The probability that a message runs out of gas in the new branch. The faucet's messages are exempt, because nothing
   * repeats them.
   */
  fail?: number
  /** CIDs of messages to leave out, so that they can be replaced. */
  without?: readonly string[]
  /** Probability of a null round at each height but the last; 0.15 when missing. */
  nullRounds?: number
}

export interface BranchPlan {
  /** Heights that get a tipset; the last is the old head's. */
  heights: number[]
  dropped: ReadonlySet<string>
  costly: ReadonlySet<string>
  /** Returns the senders whose turn has come at a height, in order. */
  turn(ready: readonly ReadyMessages[], height: number): ReadyMessages[]
}

export function planBranch(
  old: readonly Tipset[],
  options: ReorgOptions,
  random: Random,
  faucet: FilecoinAddress,
): BranchPlan {
  const { drop = 0, fail = 0, reorder = false, without = [], nullRounds = 0.15 } = options
  const first = (old[0]?.parent?.height ?? 0) + 1
  const last = old.at(-1)?.height ?? first
  const range = Array.from({ length: last - first + 1 }, (_, i) => first + i)
  const heights = range.filter((height) => height === last || !random.chance(nullRounds))
  const messages = old.flatMap((tipset) => tipset.execution.messages)
  const cids = messages.map(({ cid }) => cid)
  const dropped = new Set([...without, ...cids.filter(() => random.chance(drop))])
  const failing = messages.filter(() => random.chance(fail))
  const costly = new Set(
    failing.filter(({ message }) => !sameAddress(message.from, faucet)).map(({ cid }) => cid),
  )
  const places = new Map(cids.map((cid, place) => [cid, place]))
  const turns = turnsOf(reorder ? places : null, heights, random)
  return { heights, dropped, costly, turn: turns(dropped) }
}

/**
 * Assigns each sender's turn to a height; at the last height every sender has had it. If `places` has the old branch's
 * order, the senders that ran last come first, spread evenly.
 */
function turnsOf(places: ReadonlyMap<string, number> | null, heights: readonly number[], random: Random) {
  const from = new Map<string, number>()
  const last = heights.at(-1) ?? 0
  function announce(ready: readonly ReadyMessages[]): void {
    const fresh = ready.filter(({ signer }) => !from.has(signer))
    fresh.forEach(({ signer }, i) => {
      const at = places ? Math.floor((i * heights.length) / fresh.length) : random.int(0, heights.length - 1)
      from.set(signer, heights[at] ?? last)
    })
  }
  return (dropped: ReadonlySet<string>) => (ready: readonly ReadyMessages[], height: number) => {
    const ordered = places ? lastFirst(ready, places) : shuffled(ready, random)
    announce(ordered)
    return ordered
      .filter(({ signer }) => height === last || (from.get(signer) ?? last) <= height)
      .map((sender) => ({ ...sender, messages: until(sender.messages, dropped) }))
      .filter(({ messages }) => messages.length > 0)
  }
}

function lastFirst(ready: readonly ReadyMessages[], places: ReadonlyMap<string, number>): ReadyMessages[] {
  const place = ({ messages }: ReadyMessages): number => places.get(messages[0]?.cid ?? '') ?? -1
  return [...ready].sort((a, b) => place(b) - place(a))
}

/** Later messages of the same sender must wait with a dropped one. */
function until(messages: ReadyMessages['messages'], dropped: ReadonlySet<string>): ReadyMessages['messages'] {
  const end = messages.findIndex(({ cid }) => dropped.has(cid))
  return end === -1 ? messages : messages.slice(0, end)
}
