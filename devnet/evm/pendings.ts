import type { Life } from './loan-life.ts'
import type { Outgoing } from './outgoing.ts'
import { anything, type Rpc } from './rpc.ts'
import type { Scene } from './scene.ts'
import { receiptsOf } from './transactions.ts'

interface Pending extends Outgoing {
  hash: string
  sentAt: number
}

/** Sent transactions whose outcome is not known yet. */
export interface Pendings {
  add(outgoing: Outgoing, hash: string): void
  has(life: Life): boolean
  count(): number
  /**
   * Records mined transactions and drops those that a reorg removed. Returns the loans that were never made because
   * their creating transaction failed.
   */
  settle(): Promise<Life[]>
}

/** Milliseconds after which a transaction without receipt that the node does not know is lost: a reorg removed it. */
const vanishedAfterMs = 1500
/**
 * Milliseconds after which the player gives up a transaction that the node holds but cannot mine because a reorg left a
 * gap in the nonces.
 */
const stuckAfterMs = 20_000

export function createPendings(scene: Scene): Pendings {
  let pendings: Pending[] = []

  async function settle(): Promise<Life[]> {
    const receipts = await receiptsOf(
      scene.rpc,
      pendings.map((one) => one.hash),
    )
    const stillborn: Life[] = []
    const left: Pending[] = []
    for (const [index, one] of pendings.entries()) {
      const receipt = receipts[index]
      if (receipt === null || receipt === undefined) {
        if (!(await isGone(scene.rpc, one))) left.push(one)
      } else if (receipt.status === 1) scene.diary.record(receipt, one.lives)
      else stillborn.push(...markFailed(one.lives))
    }
    pendings = left
    return stillborn
  }

  return {
    add: (outgoing, hash) => void pendings.push({ ...outgoing, hash, sentAt: Date.now() }),
    has: (life) => pendings.some((one) => one.lives.includes(life)),
    count: () => pendings.length,
    settle,
  }
}

async function isGone(rpc: Rpc, { hash, sentAt }: Pending): Promise<boolean> {
  const age = Date.now() - sentAt
  if (age < vanishedAfterMs) return false
  if (age > stuckAfterMs) {
    await rpc.call(anything, 'anvil_dropTransaction', hash)
    return true
  }
  return (await rpc.call(anything, 'eth_getTransactionByHash', hash)) === null
}

/** One bad call spoils a batch, so these loans' next moves go alone. Returns those that are not on the chain. */
export function markFailed(lives: Life[]): Life[] {
  for (const life of lives) life.alone = true
  return lives.filter((life) => life.loanId === undefined)
}
