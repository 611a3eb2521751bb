import { adoptOpenLoans } from './adopt.ts'
import type { Life, Plan } from './loan-life.ts'
import { alignClocks } from '../loans/clocks.ts'
import { performSteps } from '../loans/perform-step.ts'
import { cancelOffer, firstMove, isOver, type Move } from './next-move.ts'
import { batch, packCalls, toCalls, type LoanCall, type Outgoing } from './outgoing.ts'
import { createPendings } from './pendings.ts'
import { anything, RpcRefusal } from './rpc.ts'
import type { Scene } from './scene.ts'
import { sendOne } from './transactions.ts'

export interface LiveLimits {
  /** Loans played side by side. */
  loansAtOnce: number
  /** No loan starts once the chain has this many: anvil keeps a copy of all of them for every block it remembers. */
  maxLoans: number
  /** Seconds that the chain's clock may be ahead of the real one; beyond that, expirations are waited for. */
  maxAheadSeconds: number
}

/** Milliseconds of real time that a loan waits for an expiration before the clock is moved for it. */
const patienceMs = 2000

/** Filecoin steps beside one transaction. */
const stepsAtOnce = 4

export interface LivePlay {
  /** Settles earlier transactions and sends one more if there is work. Returns the number of transactions and steps. */
  step(): Promise<number>
}

/** Plays one transaction per step; the caller sets the pace. */
export function createLivePlay(scene: Scene, limits: LiveLimits, onNotice: (line: string) => void): LivePlay {
  const { rpc, deployment, source } = scene
  const pendings = createPendings(scene)
  let lives: Life[] = []
  let adopted = false
  let wasFull = false
  let waitingSince: number | undefined

  async function step(): Promise<number> {
    if (!adopted) lives = await adoptOpenLoans(scene)
    adopted = true
    const stillborn = await pendings.settle()
    lives = lives.filter((life) => !stillborn.includes(life))
    const idle = lives.filter((life) => !pendings.has(life))
    const moves = await scene.movesOf(idle)
    const over = idle.filter((_, index) => isOver(moves[index]))
    lives = lives.filter((life) => !over.includes(life))
    await scene.filecoin?.stir()
    const steps = await performSteps(scene.filecoin, idle, moves, stepsAtOnce)
    await moveClockFor(moves)
    if (scene.filecoin !== undefined) await alignClocks(scene, scene.filecoin)
    const outgoing = await choose(idle.flatMap((life, index) => toCalls(life, moves[index])))
    const sent = outgoing === undefined ? 0 : await send(outgoing)
    scene.journal?.save(lives)
    return steps + sent
  }

  async function choose(calls: LoanCall[]): Promise<Outgoing | undefined> {
    const counts = await scene.lookUpCounts()
    const isFull = counts.erc20Loans + counts.erc20CollateralLock >= limits.maxLoans
    if (isFull && !wasFull) onNotice(`the chain has its ${limits.maxLoans} loans: no new ones are begun`)
    wasFull = isFull
    if (lives.length < limits.loansAtOnce && !isFull) {
      if (pendings.count() === 0 && source.random.chance(0.05)) return flash(counts.erc20Loans + 1)
      if (calls.length === 0 || source.random.chance(0.4)) return begin()
    }
    const urgent = calls.filter(({ life }) => isInHurry(life))
    const next = packCalls(deployment, urgent.length > 0 ? urgent : calls)
    return next.length === 0 ? undefined : source.random.pick(next)
  }

  /** Starts one new loan, or several by one contract wallet in one transaction. */
  function begin(): Outgoing | undefined {
    const except = lives.filter(isInHurry).length < hurriedAtOnce ? [] : hurried
    const life = scene.conceive(except)
    const fresh = [life]
    const [first] = toCalls(life, firstMove(life))
    const wallet = [deployment.batcher, deployment.borrowerBatcher].find((one) => one === first?.sender)
    const partners = wallet === undefined ? 0 : source.random.int(1, 3)
    for (let i = 0; i < partners; i++) fresh.push(madeBy(wallet ?? '', scene.conceive(except)))
    lives.push(...fresh)
    const calls = fresh.flatMap((one) => toCalls(one, firstMove(one)))
    return packCalls(deployment, calls)[0]
  }

  /** Makes and cancels an offer in one transaction: at the end of its block its terms can no longer be read. */
  function flash(expectedId: number): Outgoing {
    const life = madeBy(deployment.batcher, scene.conceiveAs('erc20Loans', 'cancel'))
    lives.push(life)
    const cancellation = cancelOffer({ ...life, loanId: BigInt(expectedId) })
    const calls = [firstMove(life), cancellation].flatMap((move) => toCalls(life, move))
    return { ...batch(deployment, deployment.batcher, calls), lives: [life] }
  }

  async function send(outgoing: Outgoing): Promise<number> {
    try {
      pendings.add(outgoing, await sendOne(rpc, outgoing.transaction))
      return 1
    } catch (error) {
      // The node refused it, for example after a reorg that disordered its nonces. The next step tries again.
      if (!(error instanceof RpcRefusal)) throw error
      return 0
    }
  }

  async function moveClockFor(moves: Move[]): Promise<void> {
    const waits = moves.flatMap((move) => (move.kind === 'wait' ? move.until : []))
    const inHurry = lives.filter(isInHurry).length
    // Moving the clock would expire loans whose calls are still under way.
    if (waits.length === 0 || waits.length < inHurry) waitingSince = undefined
    else waitingSince ??= Date.now()
    if (waitingSince === undefined || Date.now() - waitingSince < patienceMs) return
    waitingSince = undefined
    const now = await scene.now()
    const until = Math.max(...waits)
    const isTooFar = until - Date.now() / 1000 > limits.maxAheadSeconds
    if (until > now && !isTooFar) await rpc.call(anything, 'evm_increaseTime', until - now)
  }

  return { step }
}

/** These have short periods, so all calls before the expiration must be made in time. */
const hurried: readonly Plan[] = ['seize', 'refund']
/** Small, so that a moment comes when all of them wait and the clock can be moved. */
const hurriedAtOnce = 2

function isInHurry({ plan }: Life): boolean {
  return hurried.includes(plan)
}

function madeBy(maker: string, life: Life): Life {
  return life.market === 'erc20Loans' ? { ...life, lender: maker } : { ...life, borrower: maker }
}
