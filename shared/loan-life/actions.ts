import type { FilecoinIdentity } from '../events/filecoin-event.ts'
import { EVM_ACTIONS, evmOffers } from './evm-actions.ts'
import { FILECOIN_ACTIONS, filecoinOffers } from './filecoin-actions.ts'
import { clockOf, partyOf, type Actor, type LinkedChannel, type LoanLife } from './life.ts'
import { basisOf, chainTime, isFilecoin, isOver, type Basis, type ChainTime, type Window } from './times.ts'

/** (pure) The actions that a loan's parties can take now or later, with their times. */

export const ACTIONS = [...EVM_ACTIONS, ...FILECOIN_ACTIONS] as const
export type ActionName = (typeof ACTIONS)[number]

export interface LoanAction {
  action: ActionName
  actor: Actor
  /** The sender's address on that chain; null if unknown. */
  address: string | null
  /** The network as `/api/status` names it; `filecoin` where a channel may be made on any. */
  chain: string
  /** Both times included; null is no limit. */
  notBefore: ChainTime | null
  notAfter: ChainTime | null
  /** The last indexed block, from which times and heights are converted; null if there is none. */
  basis: Basis | null
}

/** Without the actions whose time has passed by the last indexed block. */
export function actionsOf(life: LoanLife): LoanAction[] {
  const evm = evmOffers(life).flatMap(({ action, actor, window }) =>
    dated(life, life.network, window, { action, actor, address: life[actor] }),
  )
  const filecoin = filecoinOffers(life).flatMap(({ action, actor, channel, window }) => {
    const network = channel?.network ?? onlyFilecoinNetwork(life)
    const address = channel === null ? filecoinAddress(life, actor) : addressIn(channel, actor)
    return dated(life, network, window, { action, actor, address })
  })
  return [...evm, ...filecoin]
}

function dated(
  life: LoanLife,
  network: string,
  window: Window,
  { action, actor, address }: Pick<LoanAction, 'action' | 'actor' | 'address'>,
): LoanAction[] {
  const clock = clockOf(life, network)
  if (isOver(window, network, clock)) return []
  const notBefore = chainTime(window.from, 'from', network, clock)
  const notAfter = chainTime(window.until, 'until', network, clock)
  return [{ action, actor, address, chain: network, notBefore, notAfter, basis: basisOf(network, clock) }]
}

/** The network on which a channel that does not exist yet would be made. */
function onlyFilecoinNetwork({ clocks }: LoanLife): string {
  const [network, ...others] = clocks.map((clock) => clock.network).filter(isFilecoin)
  return network === undefined || others.length > 0 ? 'filecoin' : network
}

function addressIn({ role, channel }: LinkedChannel, actor: Actor): string {
  return shownAddress(channel[partyOf(role, actor)])
}

/** Prefers the robust address: a reorg can reassign an ID address. */
export function shownAddress({ robust: [first], id, asWritten }: FilecoinIdentity): string {
  return first ?? id ?? asWritten
}

function filecoinAddress({ filBorrower, filLender }: LoanLife, actor: Actor): string | null {
  return actor === 'borrower' ? filBorrower : filLender
}
