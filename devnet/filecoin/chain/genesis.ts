import { delegatedAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import { blake2b160 } from '../../../shared/filecoin/blake2b.ts'
import { BURNT_FUNDS_ID } from '../vm/execute-message.ts'
import { encodeUtf8 } from '../vm/utf8.ts'
import { newActor, WorldState, type NewActor } from '../vm/world-state.ts'
import { MINERS } from './block-plans.ts'

export const FIL = 10n ** 18n
/** An actor of its own kind that accepts every method; no call makes it a channel. */
export const BULLETIN_ID = 90
/** A contract in namespace 10 (Ethereum addresses) that returns its input. */
export const CONTRACT_ADDRESS = delegatedAddress(10n, blake2b160(encodeUtf8('a contract of the devnet')))

/** System, init, reward, cron, power, market, verified registry, datacap, EAM. */
const BUILT_IN = [0, 1, 2, 3, 4, 5, 6, 7, 10]

/** Creates the actors that exist from the beginning; `faucet` holds all the money. */
export function genesisState(faucet: FilecoinAddress): WorldState {
  const actors: NewActor[] = [
    ...BUILT_IN.map((id): NewActor => ({ id, kind: id === 1 ? 'init' : 'system' })),
    { id: BULLETIN_ID, kind: 'bulletin' },
    { id: BURNT_FUNDS_ID, kind: 'system' },
    { id: 100, kind: 'account', robust: faucet, balance: 1_000_000_000n * FIL },
    { id: 101, kind: 'evm', delegated: CONTRACT_ADDRESS },
    ...MINERS.map((id): NewActor => ({ id, kind: 'system' })),
  ]
  return actors.reduce((state, actor) => state.put(newActor(actor)), new WorldState())
}
