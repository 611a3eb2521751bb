import type { DiaryEntry } from './diary.ts'
import type { Life } from './loan-life.ts'
import { packCalls, toCalls, type LoanCall, type Outgoing } from './outgoing.ts'
import { isOver } from './next-move.ts'
import { mineAndAlign } from '../loans/clocks.ts'
import { performSteps } from '../loans/perform-step.ts'
import { markFailed } from './pendings.ts'
import { anything } from './rpc.ts'
import type { Scene } from './scene.ts'
import { mine, receiptsOf, sendMany, withManualMining } from './transactions.ts'

/** Newest loans checked once more at the end. */
const lookBack = 1000

export interface BulkOptions {
  loansAtOnce?: number
  between?: () => Promise<void> | undefined
}

/**
 * Plays whole loans, many per block, until the given number is over. It reaches expirations by moving the chain's
 * clock. Loans that a reorg removes meanwhile are played anew.
 */
export function playInBulk(scene: Scene, loans: number, options: BulkOptions): Promise<DiaryEntry[]> {
  const { loansAtOnce = 200, between = () => undefined } = options
  return withManualMining(scene.rpc, async () => {
    const entries: DiaryEntry[] = []
    await scene.lookUpCounts()
    let begun = 0
    let lives: Life[] = []
    while (begun < loans || lives.length > 0) {
      for (; begun < loans && lives.length < loansAtOnce; begun++) lives.push(scene.conceive())
      const moves = await scene.movesOf(lives)
      const calls = lives.flatMap((life, index) => toCalls(life, moves[index]))
      if (calls.length > 0) entries.push(...(await playBlock(scene, calls)))
      const steps = await performSteps(scene.filecoin, lives, moves)
      const isBusy = calls.length > 0 || steps > 0 || moves.some(({ kind }) => kind === 'hold')
      const waits = moves.flatMap((move) => (move.kind === 'wait' ? move.until : []))
      if (!isBusy && waits.length > 0) await moveClock(scene, Math.max(...waits))
      if (scene.filecoin !== undefined) await mineAndAlign(scene, scene.filecoin)
      await between()
      begun -= moves.filter((move) => move.kind === 'vanished').length
      lives = lives.filter((_, index) => !isOver(moves[index]))
      if (begun >= loans && lives.length === 0) lives = await revived(scene)
    }
    return entries
  })
}

/** Finds finished loans whose end a reorg took back: their channels would fit the wrong loans. */
async function revived(scene: Scene): Promise<Life[]> {
  if (scene.filecoin === undefined) return []
  const recent = scene.lives.slice(-lookBack).filter(({ loanId }) => loanId !== undefined)
  const moves = await scene.movesOf(recent)
  return recent.filter((_, index) => !isOver(moves[index]))
}

/** Sends the calls and mines them into one block, or more when the node's own clock interferes. */
async function playBlock(scene: Scene, calls: LoanCall[]): Promise<DiaryEntry[]> {
  const packed = packCalls(scene.deployment, calls)
  const answers = await sendMany(
    scene.rpc,
    packed.map(({ transaction }) => transaction),
  )
  await mine(scene.rpc)
  const sent = packed.flatMap((outgoing, index) => {
    const hash = answers[index]
    return typeof hash === 'string' ? [{ outgoing, hash }] : []
  })
  const receipts = await receiptsOf(
    scene.rpc,
    sent.map(({ hash }) => hash),
  )
  return sent.flatMap(({ outgoing }, index) => settle(scene, outgoing, receipts[index]))
}

type Receipts = Awaited<ReturnType<typeof receiptsOf>>

/** Failed or lost calls are retried: the next look at the chain shows the loan's state. */
function settle(scene: Scene, { lives }: Outgoing, receipt: Receipts[number] | undefined): DiaryEntry[] {
  if (receipt?.status === 1) return scene.diary.record(receipt, lives)
  markFailed(lives)
  return []
}

/** Adds at least a second, so that two blocks never have the same time. */
async function moveClock(scene: Scene, until: number): Promise<void> {
  const seconds = Math.max(1, until - (await scene.now()))
  await scene.rpc.call(anything, 'evm_increaseTime', seconds)
  await mine(scene.rpc)
}
