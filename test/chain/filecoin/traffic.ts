import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import { formatAddress, parseAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import {
  collect,
  createChannel,
  fundChannel,
  redeem,
  settle,
  signVoucher,
} from '../../../devnet/filecoin/channel-actions.ts'
import { startLotus, type Lotus, type LotusOptions, type Wallet } from '../../../devnet/filecoin/lotus.ts'
import type { Random } from '../../../devnet/evm/random.ts'
import { createRandom } from '../../../devnet/evm/random.ts'
import type { Test } from 'tap'
import { createdActorAddress } from '../../../devnet/filecoin/codec.ts'

/** A node of its own that mines when it is told to. */
export async function startChain(t: Test, options: LotusOptions = {}): Promise<Lotus> {
  const lotus = await startLotus({ tickMs: null, settleDelayEpochs: 5, ...options })
  t.teardown(() => lotus.stop())
  return lotus
}

/** As {@link startChain}, with traffic in each of so many epochs. */
export async function startBusyChain(
  t: Test,
  seed: string,
  { epochs, messages, ...options }: LotusOptions & { epochs: number; messages: number },
): Promise<Lotus> {
  const lotus = await startChain(t, { seed, ...options })
  const traffic = new Traffic(lotus, seed)
  await traffic.begin()
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    await traffic.play(messages)
    await lotus.chain.mine()
  }
  return lotus
}

interface Channel {
  address: FilecoinAddress
  from: Wallet
  to: Wallet
  nonce: bigint
}

const FIL = 10n ** 18n

/** Whatever may happen around payment channels, by a seed: much of it fails, and much concerns no channel. */
export class Traffic {
  readonly #lotus: Lotus
  readonly #random: Random
  #wallets: Wallet[] = []
  #channels: Channel[] = []
  sent = 0

  constructor(lotus: Lotus, seed: string) {
    this.#lotus = lotus
    this.#random = createRandom(seed)
  }

  async begin(): Promise<void> {
    for (const index of [0, 1, 2, 3, 4, 5]) {
      const wallet = await this.#lotus.chain.createWallet(index === 0 ? 'bls' : 'secp256k1', `party ${index}`)
      await this.#lotus.chain.fund(wallet.address, 1_000_000n * FIL)
      this.#wallets.push(wallet)
    }
    await this.#lotus.chain.mine()
  }

  /** So many messages; a refused one (a used nonce after a reorg, say) is no message. */
  async play(messages: number): Promise<void> {
    for (let left = messages; left > 0; left -= 1) {
      try {
        await this.#one()
        this.sent += 1
      } catch {
        continue
      }
    }
  }

  async #one(): Promise<void> {
    const random = this.#random
    const wallet = random.pick(this.#wallets)
    if (this.#channels.length < 3 || random.chance(0.15)) return this.#create(wallet)
    const channel = random.pick(this.#channels)
    const name = random.chance(0.3) ? (this.#idOf(channel.address) ?? channel.address) : channel.address
    const extras = random.chance(0.2) ? this.#byId(wallet) : {}
    const party = random.pick([channel.from, channel.to, wallet])
    switch (random.int(0, 9)) {
      case 0:
        await fundChannel(wallet, name, BigInt(random.int(1, 9)) * FIL, extras)
        return
      case 1:
      case 2: {
        channel.nonce += 1n
        const secret = random.bytes(random.int(0, 40))
        const voucher = signVoucher(random.chance(0.8) ? channel.from : wallet, {
          channelAddr: name,
          amount: BigInt(random.int(0, 3)) * FIL,
          nonce: channel.nonce,
          secretHash: secret.length === 0 ? secret : blake2b256(secret),
          minSettleHeight: random.chance(0.2) ? BigInt(this.#lotus.chain.nextHeight + 12) : 0n,
        })
        await redeem(random.chance(0.8) ? channel.to : party, name, voucher, secret)
        return
      }
      case 3:
      case 4:
        await settle(random.pick([channel.from, channel.to]), name)
        return
      case 5:
      case 6:
        await collect(random.pick([channel.from, channel.to, party]), name)
        return
      case 7:
        await wallet.send({ to: name, method: 2n, params: random.bytes(random.int(0, 60)) })
        return
      case 8:
        await wallet.send({ to: random.pick(this.#wallets).key, method: 0n, value: 7n, ...extras })
        return
      default:
        await wallet.send({ to: name, method: BigInt(random.int(2, 6)) })
    }
  }

  async #create(wallet: Wallet): Promise<void> {
    const [from, to] = [this.#random.pick(this.#wallets), this.#random.pick(this.#wallets)]
    const value = BigInt(this.#random.int(0, 9)) * FIL
    const nonce = await this.#lotus.chain.nextNonce(wallet.key)
    const named = this.#random.chance(0.3) ? (this.#idOf(to.key) ?? to.key) : to.key
    await createChannel(wallet, from.key, named, value)
    this.#channels.push({ address: createdActorAddress(wallet.key, nonce), from, to, nonce: 0n })
    if (this.#channels.length > 12) this.#channels.shift()
  }

  #byId(wallet: Wallet): { from?: FilecoinAddress } {
    const id = this.#idOf(wallet.key)
    return id === null ? {} : { from: id }
  }

  #idOf(address: FilecoinAddress): FilecoinAddress | null {
    const actor = this.#lotus.chain.readActor(formatAddress(address, this.#lotus.chain.letter))
    return actor === undefined ? null : parseAddress(`t0${actor.id}`)
  }
}
