import { messageOf } from '../../shared/errors.ts'
import type { DevChain } from './chain/dev-chain.ts'

export interface Clock {
  stop(): void
}

/**
 * Mines a tipset every `tickMs`. At the chain's own pace it also follows the time of day: heights that passed unmined
 * become null rounds. A chain that was moved ahead continues from there.
 */
export function startClock(
  chain: DevChain,
  tickMs: number | null | undefined,
  onNotice: ((line: string) => void) | undefined,
): Clock {
  if (tickMs === null) return { stop: () => undefined }
  const ownPaceMs = chain.settings.epochDurationS * 1000
  const period = tickMs ?? ownPaceMs
  const tick = (): void => {
    if (period === ownPaceMs) catchUp(chain)
    chain
      .mine()
      .catch((error: unknown) => onNotice?.(`the Filecoin devnet did not mine: ${messageOf(error)}`))
  }
  const timer = setInterval(tick, period)
  return { stop: () => clearInterval(timer) }
}

/** Ignores a single missed epoch, which a late timer explains. */
function catchUp(chain: DevChain): void {
  const { genesisTimeS, epochDurationS } = chain.settings
  const due = Math.floor((Date.now() / 1000 - genesisTimeS) / epochDurationS)
  if (due > chain.nextHeight + 1) chain.nullRound(due - chain.nextHeight)
}
