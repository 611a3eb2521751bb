import { sameAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import type { Random } from '../../evm/random.ts'
import type { ReadyMessages } from './message-pool.ts'
import { shuffled } from './block-plans.ts'
import type { Tipset } from './tipset.ts'

/** How the new branch differs. All of it follows from the chain's seed. */
export interface ReorgOptions {
  /** Of the messages so large a part does not come along: it waits for later tipsets. */
  drop?: number
  /** Senders run in the opposite order, so that what is made gets other IDs. */
  reorder?: boolean
  /** Of the messages so large a part runs out of gas in the new branch; none of the faucet's, that nobody repeats. */
  fail?: number
  /** Messages by CID that do not come along, so that they can be replaced. */
  without?: readonly string[]
  /** Chance of a null round at each height but the last; 0.15 when missing. */
  nullRounds?: number
}

export interface BranchPlan {
  /** Heights that get a tipset; the last is the old head's. */
  heights: number[]
  dropped: ReadonlySet<string>
  costly: ReadonlySet<string>
  /** The senders whose turn has come at a height, in order. */
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
 * Each sender's turn comes at one of the heights; at the last everybody's has. With the old branch's `places`, those
 * who ran last come first, spread evenly.
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

/** What comes after a dropped message of the same sender has to wait with it. */
function until(messages: ReadyMessages['messages'], dropped: ReadonlySet<string>): ReadyMessages['messages'] {
  const end = messages.findIndex(({ cid }) => dropped.has(cid))
  return end === -1 ? messages : messages.slice(0, end)
}
