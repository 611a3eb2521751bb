import {
  actorAddress,
  delegatedAddress,
  idAddress,
  sameAddress,
  type FilecoinAddress,
} from '../../shared/filecoin/address.ts'
import {
  decodeExecParams,
  decodeExecReturn,
  encodeConstructorParams,
  encodeExecParams,
} from '../../shared/filecoin/init-actor.ts'
import { COLLECT, INIT_EXEC, PAYCH_UPDATE, SEND, SETTLE } from '../../shared/filecoin/payment-channel.ts'
import { createRandom, type Random } from '../evm/random.ts'
import { codeOf } from './actors/actor-codes.ts'
import { INVOKE_EVM } from './actors/dispatch.ts'
import type { DevChain } from './chain/dev-chain.ts'
import { BULLETIN_ID, CONTRACT_ADDRESS, FIL } from './chain/genesis.ts'
import { createChannel, fundChannel, INIT_ACTOR } from './channel-actions.ts'
import { createMultisig, propose } from './multisig-actions.ts'
import type { Wallet } from './wallet.ts'

/** Of actors version 4: was a payment channel once, cannot be made any more. */
const OUTDATED_CODE = 'bafkqafdgnfwc6nbpobqxs3lfnz2gg2dbnzxgk3a'
const UPKEEP = 1000n * FIL

interface Passer {
  wallet: Wallet
  random: Random
  others: readonly Wallet[]
  made: Made
}

/** The last few that traffic made, as far as the chain has them. */
interface Made {
  channels: FilecoinAddress[]
  multisigs: FilecoinAddress[]
}

/**
 * What else happens on a chain: transfers, contract calls, multisigs, channels that are nobody's loan, messages with
 * a channel's methods to what is no channel, and failures. Call it before each tipset; `perTipset` messages on average.
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

/** Each wallet is paid when it runs low, once a time. */
async function upkeep(chain: DevChain, wallets: readonly Wallet[]): Promise<void> {
  if (chain.pool.all().some(({ message }) => message.value === UPKEEP)) return
  for (const { address } of wallets) {
    if ((chain.readActor(address)?.balance ?? 0n) < 10n * FIL) await chain.fund(address, UPKEEP)
  }
}

/** What stands in the newest executed tipsets. */
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
  // Somebody new: takes the next ID.
  ({ wallet, random }) =>
    wallet.send({ to: { protocol: 1, payload: random.bytes(20) }, method: SEND, value: FIL / 1000n }),
  ({ wallet, random }) =>
    wallet.send({ to: delegatedAddress(10n, random.bytes(20)), method: SEND, value: FIL / 1000n }),
  ({ wallet, random }) =>
    wallet.send({ to: CONTRACT_ADDRESS, method: INVOKE_EVM, params: random.bytes(random.int(4, 200)) }),
  // A channel's methods, to what is none: all of these succeed.
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

/** A multisig that traffic made pays somebody, by a message that no block lists. */
async function useMultisig({ wallet, made, others, random }: Passer): Promise<void> {
  if (made.multisigs.length === 0) return
  await propose(wallet, random.pick(made.multisigs), { to: random.pick(others).key, value: 5n, method: SEND })
}

/** Adds to a channel that has nothing to do with any loan. */
async function fundStranger({ wallet, made, random }: Passer): Promise<void> {
  if (made.channels.length === 0) return
  await fundChannel(wallet, random.pick(made.channels), 7n)
}
