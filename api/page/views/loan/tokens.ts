import { getLoanAssets } from '../../../../client/index.ts'
import { useAnswer } from '../../lib/use-answer.ts'

/** The symbol of a token, as the token says; two tokens can have the same one. Null while unknown. */
export function useSymbol(token: string | null): string | null {
  const { data } = useAnswer('assets', (options) => getLoanAssets({ ...options, path: { networkId: 'ALL' } }))
  const assets = data?.payload
  return token !== null && assets !== undefined && Object.hasOwn(assets, token)
    ? (assets[token]?.symbol ?? null)
    : null
}
