import { markets, secretFor, type Life, type Market } from './loan-life.ts'
import { readLoans, type LoanOnChain } from './loan-reader.ts'
import { secretHash } from './loan-texts.ts'
import type { Scene } from './scene.ts'

/** Newest loans that a player checks on a chain that already has some. */
const lookBack = 200
/** Maximum distance between a loan's secret number and its id: reorgs and failed creations use numbers up. */
const numbersAhead = 2000

/** Resumes open loans of an earlier run with the same seed. Loans of other players are left alone. */
export async function adoptOpenLoans(scene: Scene): Promise<Life[]> {
  const counts = await scene.lookUpCounts()
  const kept = (scene.journal?.load() ?? []).filter((life) => life.loanId !== undefined)
  scene.lives.push(...kept)
  const found = await Promise.all(markets.map((market) => adoptFrom(scene, market, counts[market])))
  const isKept = (life: Life): boolean => kept.some((one) => isSameLoan(one, life))
  return [...kept, ...found.flat().filter((life) => !isKept(life))]
}

function isSameLoan(one: Life, other: Life): boolean {
  return one.market === other.market && one.loanId === other.loanId
}

async function adoptFrom(scene: Scene, market: Market, last: number): Promise<Life[]> {
  const first = Math.max(1, last - lookBack + 1)
  const ids = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => BigInt(first + index))
  const loans = await readLoans(
    scene.rpc,
    scene.deployment,
    ids.map((loanId) => ({ market, loanId })),
  )
  const open = ids.flatMap((loanId, index) => {
    const loan = loans[index]
    return loan !== undefined && isOpen(market, loan) ? [{ loanId, loan }] : []
  })
  if (open.length === 0) return []
  const secrets = {
    a1: namedSecrets(scene, market, 'A1', first, last),
    b1: namedSecrets(scene, market, 'B1', first, last),
  }
  return open.flatMap(({ loanId, loan }) => adopt(scene, market, loanId, loan, secrets) ?? [])
}

function isOpen(market: Market, { state }: LoanOnChain): boolean {
  return market === 'erc20Loans' ? state <= 3 : state <= 1
}

type Secrets = Map<string, Uint8Array>

function namedSecrets(
  scene: Scene,
  market: Market,
  owner: 'A1' | 'B1',
  first: number,
  last: number,
): Secrets {
  const secrets: Secrets = new Map()
  for (let number = Math.max(1, first - 10); number <= last + numbersAhead; number++) {
    const secret = secretFor(scene.source.seed, market, owner, number)
    secrets.set(secretHash(secret), secret)
  }
  return secrets
}

/** Undefined when a secret that the contract already fixes is not ours. */
function adopt(
  scene: Scene,
  market: Market,
  loanId: bigint,
  loan: LoanOnChain,
  known: { a1: Secrets; b1: Secrets },
): Life | undefined {
  const life = scene.conceiveAs(market, market === 'erc20Loans' ? 'repay' : 'seize')
  const unset = BigInt(0)
  const a1 = BigInt(loan.secretHashA1) === unset ? life.secrets.a1 : known.a1.get(loan.secretHashA1)
  const b1 = BigInt(loan.secretHashB1) === unset ? life.secrets.b1 : known.b1.get(loan.secretHashB1)
  if (a1 === undefined || b1 === undefined) return undefined
  const party = (onChain: string, own: string): string => (BigInt(onChain) === unset ? own : onChain)
  return {
    ...life,
    ...{ loanId, secrets: { a1, b1 }, hashes: { a1: secretHash(a1), b1: secretHash(b1) } },
    half: undefined,
    ...{ lender: party(loan.lender, life.lender), borrower: party(loan.borrower, life.borrower) },
  }
}
