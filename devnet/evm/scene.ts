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
import { firstMove, nextMove, type Move } from './next-move.ts'
import { quantity, type Rpc } from './rpc.ts'
import { z } from 'zod'

/** What live and bulk play share: the chain, the diary, and the making of loans. */
export interface Scene {
  rpc: Rpc
  deployment: Deployment
  diary: Diary
  source: LifeSource
  /** A loan that is not on the chain yet, with the next plan of the repertoire that is none of these. */
  conceive(except?: readonly Plan[]): Life
  /** The same, but with this plan. */
  conceiveAs(market: Market, plan: Plan): Life
  /** Must be called before loans are conceived: numbers of secrets go on where the chain's loans end. */
  lookUpCounts(): Promise<Record<Market, number>>
  /** The next move of each, in their order, as of the latest block. */
  movesOf(lives: Life[]): Promise<Move[]>
  /** The latest block's time, seconds since 1970. */
  now(): Promise<number>
}

export function createScene(parts: Pick<Scene, 'rpc' | 'deployment' | 'diary' | 'source'>): Scene {
  const { rpc, deployment, source } = parts
  const nextSecret: Record<Market, number> = { erc20Loans: 1, erc20CollateralLock: 1 }
  let played = 0
  const conceiveAs = (market: Market, plan: Plan): Life => newLife(source, market, plan, nextSecret[market]++)
  const now = async (): Promise<number> => {
    const block = await rpc.call(z.object({ timestamp: quantity }), 'eth_getBlockByNumber', 'latest', false)
    return block.timestamp
  }
  return {
    ...parts,
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
      const moves = new Map(known.map(({ life }, index) => [life, moveFor(life, loans[index], time)]))
      return lives.map((life) => moves.get(life) ?? firstMove(life))
    },
    now,
  }
}

function idOf({ market, loanId }: Life): { market: Market; loanId: bigint } {
  return { market, loanId: loanId ?? 0n }
}

function moveFor(life: Life, loan: LoanOnChain | undefined, now: number): Move {
  return loan === undefined ? { kind: 'vanished' } : nextMove(life, loan, now)
}
