import {
  delegatedAddress,
  idAddress,
  sameAddress,
  type FilecoinAddress,
} from '../../shared/filecoin/address.ts'
import { decodeExecParams, decodeExecReturn } from '../../shared/filecoin/init-actor.ts'
import { COLLECT, INIT_EXEC, PAYCH_UPDATE, SEND, SETTLE } from '../../shared/filecoin/payment-channel.ts'
import { createRandom, type Random } from '../evm/random.ts'
import { codeOf } from './actors/actor-codes.ts'
import { INVOKE_EVM } from './actors/dispatch.ts'
import type { DevChain } from './chain/dev-chain.ts'
import { BULLETIN_ID, CONTRACT_ADDRESS, FIL } from './chain/genesis.ts'
import { createChannel, fundChannel, INIT_ACTOR } from './channel-actions.ts'
import { createMultisig, propose } from './multisig-actions.ts'
import type { Wallet } from './wallet.ts'
import { actorAddress, encodeConstructorParams, encodeExecParams } from './codec.ts'

/** The payment channel code of actors version 4, which Init no longer accepts. */
const OUTDATED_CODE = 'bafkqafdgnfwc6nbpobqxs3lfnz2gg2dbnzxgk3a'
const UPKEEP = 1000n * FIL

interface Passer {
  wallet: Wallet
  random: Random
  others: readonly Wallet[]
  made: Made
}

/** The newest actors that traffic created on the chain. */
interface Made {
  channels: FilecoinAddress[]
  multisigs: FilecoinAddress[]
}

/**
 * Creates messages that concern no loan: transfers, contract calls, multisigs, unrelated channels, failures, and
 * channel methods sent to other actors. Call the returned function before each tipset; it sends `perTipset` messages on
 * average.
 */
export function createTraffic(chain: DevChain, perTipset: number): () => Promise<void> {
  const { seed } = chain.settings
  const wallets = Promise.all(
    Array.from({ length: 5 }, (_, i) =>
      chain.createWallet(i === 0 ? 'bls' : 'secp256k1', `${seed}/traffic/${i}`),
    ),
  )
  return async () => {
    const all = await wallets
    const random = createRandom(`${seed}/traffic/${chain.nextHeight}`)
    await upkeep(chain, all)
    let left = perTipset
    while (random.chance(left / (left + 1))) {
      const wallet = random.pick(all)
      if (chain.readActor(wallet.address) === undefined) return
      await random.pick(errands)({ wallet, random, others: all, made: lastMade(chain, all) })
      left = Math.max(0, left - 0.05)
    }
  }
}

/** Funds each wallet that runs low, one round at a time. */
async function upkeep(chain: DevChain, wallets: readonly Wallet[]): Promise<void> {
  if (chain.pool.all().some(({ message }) => message.value === UPKEEP)) return
  for (const { address } of wallets) {
    if ((chain.readActor(address)?.balance ?? 0n) < 10n * FIL) await chain.fund(address, UPKEEP)
  }
}

/** Returns the actors that the newest executed tipsets created. */
function lastMade(chain: DevChain, wallets: readonly Wallet[]): Made {
  const made: Made = { channels: [], multisigs: [] }
  let tipset = chain.head().parent
  for (let i = 0; i < 20 && tipset !== null; i++, tipset = tipset.parent) {
    tipset.execution.messages.forEach(({ message }, at) => {
      const receipt = tipset?.execution.receipts[at]
      const isOurs = wallets.some(({ key }) => sameAddress(key, message.from))
      if (!isOurs || message.method !== INIT_EXEC || receipt?.exitCode !== 0 || receipt.returned.length === 0)
        return
      if (!sameAddress(message.to, INIT_ACTOR)) return
      const { codeCid } = decodeExecParams(message.params)
      const list = codeCid === codeOf('multisig') ? made.multisigs : made.channels
      list.push(decodeExecReturn(receipt.returned).robustAddress)
    })
  }
  return made
}

type Errand = (passer: Passer) => Promise<unknown>

const errands: readonly Errand[] = [
  ({ wallet, random, others }) =>
    wallet.send({ to: random.pick(others).key, method: SEND, value: BigInt(random.int(1, 1e9)) }),
  // A new account, which takes the next ID.
  ({ wallet, random }) =>
    wallet.send({ to: { protocol: 1, payload: random.bytes(20) }, method: SEND, value: FIL / 1000n }),
  ({ wallet, random }) =>
    wallet.send({ to: delegatedAddress(10n, random.bytes(20)), method: SEND, value: FIL / 1000n }),
  ({ wallet, random }) =>
    wallet.send({ to: CONTRACT_ADDRESS, method: INVOKE_EVM, params: random.bytes(random.int(4, 200)) }),
  // Channel methods sent to actors that are no channel; all of these succeed.
  ({ wallet, random }) =>
    wallet.send({ to: bulletin, method: random.pick([SETTLE, COLLECT]), value: BigInt(random.int(0, 5)) }),
  ({ wallet, random }) =>
    wallet.send({ to: bulletin, method: PAYCH_UPDATE, params: random.bytes(random.int(1, 300)) }),
  ({ wallet, random, others }) => wallet.send({ to: random.pick(others).key, method: PAYCH_UPDATE }),
  ({ wallet, others }) => createMultisig(wallet, [wallet.key, ...others.map(({ key }) => key)], 1, FIL),
  useMultisig,
  ({ wallet, others, random }) => createChannel(wallet, wallet.key, random.pick(others).key, FIL),
  fundStranger,
  // These fail.
  ({ wallet, others, random }) => wallet.send({ to: random.pick(others).key, method: SETTLE }),
  ({ wallet, others, random }) =>
    wallet.send({ to: random.pick(others).key, method: SEND, value: 10n ** 30n }),
  ({ wallet, random }) => wallet.send({ to: actorAddress(random.bytes(9)), method: SETTLE }),
  ({ wallet }) => wallet.send({ to: CONTRACT_ADDRESS, method: SEND, gasLimit: 1000n }),
  ({ wallet }) => {
    const params = encodeExecParams(OUTDATED_CODE, encodeConstructorParams(wallet.key, wallet.key))
    return wallet.send({ to: INIT_ACTOR, method: INIT_EXEC, value: 1n, params })
  },
  ({ wallet, random }) => wallet.send({ to: INIT_ACTOR, method: INIT_EXEC, params: random.bytes(40) }),
]

const bulletin = idAddress(BigInt(BULLETIN_ID))

/** Makes one of traffic's multisigs pay an account, by a message that appears in no block. */
async function useMultisig({ wallet, made, others, random }: Passer): Promise<void> {
  if (made.multisigs.length === 0) return
  await propose(wallet, random.pick(made.multisigs), { to: random.pick(others).key, value: 5n, method: SEND })
}

/** Adds funds to a channel that is part of no loan. */
async function fundStranger({ wallet, made, random }: Passer): Promise<void> {
  if (made.channels.length === 0) return
  await fundChannel(wallet, random.pick(made.channels), 7n)
}
