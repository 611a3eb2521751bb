import { getLoanAssets, type LoanAsset } from '../../../client/index.ts'
import { useAnswer } from './use-answer.ts'

const EVERY_MS = 30_000

/** The symbol of a token, once the index has it. Two tokens can have one symbol: the address alone is proof. */
export function useSymbols(): (token: string | null) => string | null {
  const { data } = useAnswer(
    'assets',
    (options) => getLoanAssets({ ...options, path: { networkId: 'ALL' } }),
    EVERY_MS,
  )
  return (token) => {
    const assets: Record<string, LoanAsset> = data?.payload ?? {}
    return token !== null && Object.hasOwn(assets, token) ? (assets[token]?.symbol ?? null) : null
  }
}
