import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  networkLetter,
  parseAddress,
  sameAddress,
  type FilecoinAddress,
  type NetworkLetter,
} from '../../../shared/filecoin/address.ts'
import type { SignedVoucher } from '../../../shared/filecoin/voucher.ts'
import { createKey, type KeyKind } from '../keys.ts'
import { encodeUtf8 } from '../vm/utf8.ts'
import type { Actor, ChannelState } from '../vm/world-state.ts'
import { openWallet, type Wallet } from '../wallet.ts'
import { ChainBuilder, type BuilderOptions, type Reorganized } from './chain-builder.ts'
import type { ChainStore, HeadChange } from './chain-store.ts'
import type { ChainSettings, Journal } from './journal.ts'
import { RefusedMessage, type MessagePool } from './message-pool.ts'
import type { ReorgOptions } from './reorg-plan.ts'
import type { SignedMessage } from './signed-message.ts'
import type { Tipset } from './tipset.ts'
import { Waiters, type Execution } from './waiters.ts'
import { messageSigningBytes } from '../codec.ts'

export interface DevChainOptions extends BuilderOptions {
  /** Whether the node reports finality even on a short chain. */
  certifiesFinality: boolean
}

/** A channel's state: amounts in attoFIL, parties as ID addresses. */
export interface ReadChannel extends Omit<ChannelState, 'from' | 'to'> {
  id: string
  from: string
  to: string
  balance: bigint
}

/** How a message was pushed. */
interface PushOptions {
  signedBy?: FilecoinAddress
  keepRival?: boolean
}

/** Milliseconds for which `mine` blocks the event loop. */
const SLICE_MS = 20

/** The chain as its users see it: wallets, messages, time, reorgs and results. */
export class DevChain {
  readonly settings: ChainSettings
  readonly letter: NetworkLetter
  readonly faucet: Wallet
  readonly finalityEpochs: number
  readonly certifiesFinality: boolean
  /** Runs before each tipset of `mine`. */
  beforeTipset: (() => Promise<void>) | null = null
  private readonly builder: ChainBuilder
  private readonly listeners = new Set<(changes: readonly HeadChange[]) => void>()
  private readonly waiters = new Waiters()

  constructor(journal: Journal, options: DevChainOptions) {
    this.settings = journal.settings
    this.letter = networkLetter(this.settings.networkName)
    this.finalityEpochs = options.finalityEpochs
    this.certifiesFinality = options.certifiesFinality
    const faucetSeed = `${this.settings.seed}/faucet`
    this.builder = new ChainBuilder(journal, options, createKey('secp256k1', encodeUtf8(faucetSeed)).address)
    this.faucet = this.wallet('secp256k1', faucetSeed)
  }

  get store(): ChainStore {
    return this.builder.store
  }

  get pool(): MessagePool {
    return this.builder.pool
  }

  get nextHeight(): number {
    return this.builder.nextHeight
  }

  head(): Tipset {
    return this.store.head
  }

  /** Calls `listener` after each change of the head. The returned function unsubscribes it. */
  onHeadChange(listener: (changes: readonly HeadChange[]) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  get watchers(): number {
    return this.listeners.size
  }

  createWallet(kind: KeyKind, seedText: string): Promise<Wallet> {
    return Promise.resolve(this.wallet(kind, seedText))
  }

  /**
   * Pushes a faucet message and returns its CID. The next tipset credits the money and creates the account with its ID.
   */
  fund(address: string, attoFil: bigint): Promise<string> {
    const to = parseAddress(address)
    if (to === null) return Promise.reject(new Error(`${address} is no address`))
    return this.faucet.send({ to, method: 0n, value: attoFil })
  }

  nextNonce(address: FilecoinAddress): Promise<bigint> {
    const mined = this.builder.stateNow.find(address)?.nonce ?? 0n
    const waiting = this.pool.lastNonce(this.builder.keyOf(address) ?? address)
    return Promise.resolve(waiting === undefined || waiting < mined ? mined : waiting + 1n)
  }

  /**
   * Pushes a message and returns its CID. Rejects with a {@link RefusedMessage}: bad signature, used nonce, too small a
   * premium. `keepRival` leaves a replaced message with some miners, so that either may run.
   */
  push(signed: SignedMessage, options: { keepRival?: boolean } = {}): Promise<string> {
    return this.accept(signed, options)
  }

  /** Mines that many tipsets; null rounds may lie between them. */
  async mine(tipsets = 1): Promise<Tipset> {
    let sliceEnd = Date.now() + SLICE_MS
    for (let i = 0; i < tipsets; i++) {
      await this.beforeTipset?.()
      this.announce(this.builder.mine())
      if (Date.now() > sliceEnd) {
        // Data that others can see from now on must outlive this process.
        this.builder.keeper.flush()
        await nextTurn()
        sliceEnd = Date.now() + SLICE_MS
      }
    }
    this.builder.keeper.flush()
    return this.head()
  }

  /** Leaves the next `epochs` heights empty. */
  nullRound(epochs = 1): void {
    this.builder.skip(epochs)
    this.builder.keeper.flush()
  }

  /** Adds null rounds at once, which moves the chain's time. */
  skip(epochs: number): void {
    this.nullRound(epochs)
  }

  /**
   * Rebuilds the newest `depth` heights on another branch and makes it the chain, in one change of the head. Messages
   * left out become pending again. Throws when those heights are final or there are none.
   */
  reorg(depth: number, options: ReorgOptions = {}): Reorganized {
    const reorganized = this.builder.reorg(depth, options)
    this.announce(reorganized.changes)
    this.builder.keeper.flush()
    return reorganized
  }

  /** Replaces the head by a fuller tipset: the same blocks and one more, with the pending messages. */
  widen(): readonly HeadChange[] {
    const changes = this.builder.widen()
    this.announce(changes)
    this.builder.keeper.flush()
    return changes
  }

  /** Returns an actor after the newest tipset that has receipts. Undefined when it does not exist or was deleted. */
  readActor(address: string): Actor | undefined {
    const parsed = parseAddress(address)
    return parsed === null ? undefined : this.head().parent?.state?.find(parsed)
  }

  /** Same as {@link DevChain.readActor} for a channel, with its balance. */
  readChannel(address: string): ReadChannel | undefined {
    const actor = this.readActor(address)
    if (actor?.channel == null) return undefined
    const id = (number: number): string => `${this.letter}0${number}`
    const parties = { from: id(actor.channel.from), to: id(actor.channel.to) }
    return { ...actor.channel, ...parties, id: id(actor.id), balance: actor.balance }
  }

  /** Returns the outcome of a message of the chain once its receipt exists. */
  executionOf(cid: string): Execution | undefined {
    const tipset = this.store.inclusionOf(cid)
    const child = tipset === undefined ? undefined : this.store.childOf(tipset)
    const at = tipset?.execution.messages.findIndex((message) => message.cid === cid) ?? -1
    const receipt = tipset?.execution.receipts[at]
    if (tipset === undefined || child === undefined || receipt === undefined) return undefined
    return { cid, height: tipset.height, receipt, tipset, child }
  }

  /** Waits until the message is executed; a reorg can undo it afterwards. */
  waitFor(cid: string, signal?: AbortSignal): Promise<Execution> {
    const done = this.executionOf(cid)
    return done === undefined ? this.waiters.wait(cid, signal) : Promise.resolve(done)
  }

  /** Unix seconds of a height. */
  timeOf(height: number): number {
    return this.settings.genesisTimeS + height * this.settings.epochDurationS
  }

  /** Vouchers of earlier runs for the node's store. */
  get storedVouchers(): ChainBuilder['storedVouchers'] {
    return this.builder.storedVouchers
  }

  /** Saves a voucher of the node's store with the chain. */
  storeVoucher(channel: string, voucher: SignedVoucher): void {
    this.builder.keeper.voucher(channel, voucher)
    this.builder.keeper.flush()
  }

  close(): void {
    this.waiters.close()
    this.builder.keeper.close()
  }

  private announce(changes: readonly HeadChange[]): void {
    this.waiters.settle((cid) => this.executionOf(cid))
    for (const listener of this.listeners) listener(changes)
  }

  private wallet(kind: KeyKind, seedText: string): Wallet {
    const { letter } = this
    const nextNonce = (address: FilecoinAddress): Promise<bigint> => this.nextNonce(address)
    // The same library has just made the signature, so checking it would prove nothing.
    const push = (signed: SignedMessage): Promise<string> => this.accept(signed, { signedBy: wallet.key })
    const wallet: Wallet = openWallet({ letter, nextNonce, push }, kind, seedText)
    return wallet
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- refusals are rejections
  private async accept(signed: SignedMessage, options: PushOptions): Promise<string> {
    const { message, signature } = signed
    const signer = this.builder.keyOf(message.from)
    if (signer === null) throw new RefusedMessage('the sender has no key')
    if (message.value < 0n || message.gasLimit <= 0n) throw new RefusedMessage('negative value or no gas')
    const isOurs = options.signedBy !== undefined && sameAddress(options.signedBy, signer)
    if (!isOurs && !this.builder.checks.verify(messageSigningBytes(message), signature, signer)) {
      throw new RefusedMessage('signature verification failed')
    }
    if (message.nonce < (this.builder.stateNow.find(signer)?.nonce ?? 0n)) {
      throw new RefusedMessage('minimum expected nonce is higher: message nonce too low')
    }
    const keepRival = options.keepRival ?? false
    if (this.pool.add(signed, signer, keepRival)) this.builder.keeper.pushed(signed, keepRival)
    this.builder.keeper.flush()
    return signed.cid
  }
}
