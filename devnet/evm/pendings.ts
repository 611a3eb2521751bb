import type { Life } from './loan-life.ts'
import type { Outgoing } from './outgoing.ts'
import { anything, type Rpc } from './rpc.ts'
import type { Scene } from './scene.ts'
import { receiptsOf } from './transactions.ts'

interface Pending extends Outgoing {
  hash: string
  sentAt: number
}

/** Transactions that were sent and of which nothing is known yet. */
export interface Pendings {
  add(outgoing: Outgoing, hash: string): void
  has(life: Life): boolean
  count(): number
  /**
   * Writes down what was mined and lets go of what a reorg took. Answers the loans that were never made because
   * the transaction that should make them failed.
   */
  settle(): Promise<Life[]>
}

/** A transaction that neither has a receipt nor is known to the node after this is gone: a reorg took it. */
const vanishedAfterMs = 1500
/** One that the node holds but cannot mine (a reorg left a gap in the nonces) is given up after this. */
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

/** One bad call spoils a batch: from now on these go alone. Answers those of them that are not on the chain. */
export function markFailed(lives: Life[]): Life[] {
  for (const life of lives) life.alone = true
  return lives.filter((life) => life.loanId === undefined)
}
