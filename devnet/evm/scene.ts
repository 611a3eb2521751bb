import type { Deployment } from './deploy.ts'
import type { Diary } from './diary.ts'
import {
  markets,
  newLife,
  repertoire,
  type Life,
  type LifeSource,
  type Market,
  type Plan,
} from './loan-life.ts'
import { lastLoanId, readLoans, type LoanOnChain } from './loan-reader.ts'
import { nextWholeMove } from '../loans/whole-move.ts'
import type { FilecoinSide } from '../loans/filecoin-side.ts'
import type { LifeJournal } from '../loans/life-journal.ts'
import { firstMove, nextMove, type Move } from './next-move.ts'
import { quantity, type Rpc } from './rpc.ts'
import * as z from 'zod'

/** The state that live and bulk play share: the chain, the diary, and the creation of loans. */
export interface Scene {
  rpc: Rpc
  deployment: Deployment
  diary: Diary
  source: LifeSource
  /** Undefined: loans are played on the EVM chain alone. */
  filecoin: FilecoinSide | undefined
  journal: LifeJournal | undefined
  /** Every planned loan, the newest last. */
  lives: Life[]
  /** Plans a loan that is not on the chain yet, with the repertoire's next plan outside `except`. */
  conceive(except?: readonly Plan[]): Life
  /** Plans a loan with this market and plan. */
  conceiveAs(market: Market, plan: Plan): Life
  /** Must run before loans are planned: secrets are numbered on from the chain's loan counts. */
  lookUpCounts(): Promise<Record<Market, number>>
  /** Returns the loans' next moves in their order, as of the latest block. */
  movesOf(lives: Life[]): Promise<Move[]>
  /** The latest block's time, Unix seconds. */
  now(): Promise<number>
}

/** Newest loans kept in memory. */
const memory = 20_000

export function createScene(
  parts: Pick<Scene, 'rpc' | 'deployment' | 'diary' | 'source' | 'filecoin' | 'journal'>,
): Scene {
  const { rpc, deployment, source, filecoin } = parts
  const lives: Life[] = []
  const nextSecret: Record<Market, number> = { erc20Loans: 1, erc20CollateralLock: 1 }
  let played = 0
  const conceiveAs = (market: Market, plan: Plan): Life => {
    const life = newLife(source, market, plan, nextSecret[market]++)
    lives.push(life)
    if (lives.length > 2 * memory) lives.splice(0, memory)
    return life
  }
  const now = async (): Promise<number> => {
    const block = await rpc.call(z.object({ timestamp: quantity }), 'eth_getBlockByNumber', 'latest', false)
    return block.timestamp
  }
  return {
    ...parts,
    lives,
    conceive(except = []) {
      for (;;) {
        const next = repertoire[played++ % repertoire.length]
        if (next !== undefined && !except.includes(next[1])) return conceiveAs(...next)
      }
    },
    conceiveAs,
    async lookUpCounts() {
      const counts = { erc20Loans: 0, erc20CollateralLock: 0 }
      for (const market of markets) {
        counts[market] = await lastLoanId(rpc, deployment, market)
        nextSecret[market] = Math.max(nextSecret[market], counts[market] + 1)
      }
      return counts
    },
    async movesOf(lives) {
      const known = lives.flatMap((life) => (life.loanId === undefined ? [] : { life, ...idOf(life) }))
      const time = await now()
      const loans = await readLoans(rpc, deployment, known)
      await filecoin?.view.refresh()
      const moves = new Map(
        known.map(({ life }, index) => [life, moveFor(life, loans[index], time, filecoin)]),
      )
      return lives.map((life) => moves.get(life) ?? firstMove(life))
    },
    now,
  }
}

function idOf({ market, loanId }: Life): { market: Market; loanId: bigint } {
  return { market, loanId: loanId ?? 0n }
}

function moveFor(life: Life, loan: LoanOnChain | undefined, now: number, side?: FilecoinSide): Move {
  if (loan === undefined) return { kind: 'vanished' }
  return nextWholeMove(side, life, loan, () => nextMove(life, loan, now))
}
