import { tellStories, type TwoChains } from './two-chain-stories.ts'

export const HOUR_S = 3600

/**
 * Loan 1 after some events of each ledger, of which the last happened now. It expires after `expiresInS`, and its
 * acceptance ends as much later.
 */
export function storyUntilNow(
  market: 'erc20' | 'fil',
  cut: { evm: number; filecoin: number; vouchers: number },
  expiresInS: number,
): TwoChains {
  const nowS = Math.floor(Date.now() / 1000)
  const chains = tellStories(1, 1, { market, end: 'repaid', handedIn: 1 })
  const evm = untilNow(chains.evm.slice(0, cut.evm), nowS).map((event): TwoChains['evm'][number] => {
    if (event.kind !== 'ApproveRequest' && event.kind !== 'AcceptOffer') return event
    const [loanExpiration, acceptExpiration] = [nowS + expiresInS, nowS + 2 * expiresInS].map(String)
    const values = { ...event.terms.values, loanExpiration, acceptExpiration }
    return { ...event, terms: { ...event.terms, values } } as TwoChains['evm'][number]
  })
  const filecoin = untilNow(chains.filecoin.slice(0, cut.filecoin), nowS)
  return { ...chains, evm, filecoin, offchain: chains.offchain.slice(0, cut.vouchers) }
}

function untilNow<Event extends { blockTimeS: number }>(events: readonly Event[], nowS: number): Event[] {
  const laterS = nowS - (events.at(-1)?.blockTimeS ?? nowS)
  return events.map((event) => ({ ...event, blockTimeS: event.blockTimeS + laterS }))
}
