import type { Random } from '../../evm/random.ts'
import { inTicketOrder, type BlockPlan } from './block.ts'
import type { ReadyMessages } from './message-pool.ts'
import type { SignedMessage } from './signed-message.ts'

/** All miners; a tipset has at most one block of each. */
export const MINERS = Array.from({ length: 12 }, (_, i) => 1000 + i)

export interface PlanOptions {
  height: number
  salt: string
  blocks: number
  random: Random
  ready: readonly ReadyMessages[]
  /** Keeps the senders in the given order; otherwise the order is random. */
  keepOrder: boolean
}

const NO_MESSAGES: readonly SignedMessage[] = []

/**
 * Assigns messages to blocks. One block holds all of a sender's messages, and other blocks often repeat some or all of
 * them, because miners do not coordinate.
 */
export function planBlocks({ height, salt, random, ready, keepOrder, ...options }: PlanOptions): BlockPlan[] {
  const hasRivals = ready.some(({ rival }) => rival !== undefined)
  const blocks = hasRivals ? Math.max(2, options.blocks) : options.blocks
  const first = random.int(0, MINERS.length - 1)
  const miners = Array.from({ length: blocks }, (_, i) => MINERS[(first + i) % MINERS.length] ?? 0)
  if (ready.length === 0) return miners.map((miner) => ({ miner, salt, messages: NO_MESSAGES }))
  const plans = inTicketOrder(miners, salt, height).map((miner) => ({
    miner,
    salt,
    messages: [] as SignedMessage[],
  }))
  const senders = keepOrder ? ready : shuffled(ready, random)
  senders.forEach(({ messages, rival }, i) => {
    const home = keepOrder ? Math.floor((i * blocks) / senders.length) : random.int(0, blocks - 1)
    plans.forEach((plan, at) => {
      if (at === home) plan.messages.push(...messages)
      else if (rival !== undefined) plan.messages.push(rival)
      // A sender placed before its home block would run earlier than its turn.
      else if ((!keepOrder || at > home) && random.chance(0.3)) {
        plan.messages.push(...messages.slice(0, random.int(1, messages.length)))
      }
    })
  })
  return plans
}

export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items]
  const result: T[] = []
  while (left.length > 0) result.push(...left.splice(random.int(0, left.length - 1), 1))
  return result
}
