import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  networkLetter,
  parseAddress,
  sameAddress,
  type FilecoinAddress,
  type NetworkLetter,
} from '../../../shared/filecoin/address.ts'
import { messageSigningBytes } from '../../../shared/filecoin/message.ts'
import type { SignedVoucher } from '../../../shared/filecoin/voucher.ts'
import { createRandom, type Random } from '../../evm/random.ts'
import type { KeyKind } from '../keys.ts'
import { SignatureChecks } from '../vm/signature-checks.ts'
import type { Actor, ChannelState, WorldState } from '../vm/world-state.ts'
import { openWallet, type Wallet } from '../wallet.ts'
import { MINERS, planBlocks } from './block-plans.ts'
import type { BlockPlan } from './block.ts'
import { ChainStore, type HeadChange } from './chain-store.ts'
import { genesisState } from './genesis.ts'
import type { ChainSettings, Journal } from './journal.ts'
import { JournalKeeper, restoreChain } from './journal-keeper.ts'
import { MessagePool, RefusedMessage, type ReadyMessages } from './message-pool.ts'
import { planBranch, type ReorgOptions } from './reorg-plan.ts'
import type { SignedMessage } from './signed-message.ts'
import { makeTipset, type Tipset } from './tipset.ts'
import { Waiters, type Execution } from './waiters.ts'

export interface DevChainOptions {
  /** Fewest and most blocks of a tipset. */
  blocksPerTipset: readonly [number, number]
  /** Chance that a height stays empty. */
  nullRoundChance: number
  /** No reorg goes deeper than this below the head. */
  finalityEpochs: number
  /** Whether the node can tell what is final on a short chain too. */
  certifiesFinality: boolean
  /** For so many epochs the state can be asked for. */
  stateHistoryEpochs: number
}

/** A channel's state: amounts in attoFIL, parties by their IDs. */
export interface ReadChannel extends Omit<ChannelState, 'from' | 'to'> {
  id: string
  from: string
  to: string
  balance: bigint
}

const NONE: ReadonlySet<string> = new Set()

/** The chain itself: what is mined, what is pending, and its other branches. */
export class DevChain {
  readonly settings: ChainSettings
  readonly letter: NetworkLetter
  readonly store: ChainStore
  readonly pool = new MessagePool()
  readonly faucet: Wallet
  readonly finalityEpochs: number
  readonly certifiesFinality: boolean
  /** Vouchers of earlier runs for the node's store, with their channels' robust addresses. */
  readonly storedVouchers: { channel: string; voucher: SignedVoucher }[] = []
  /** Runs before each tipset of `mine`. */
  beforeTipset: (() => Promise<void>) | null = null
  private readonly checks: SignatureChecks
  private readonly options: DevChainOptions
  private readonly keeper: JournalKeeper
  private readonly listeners = new Set<(changes: readonly HeadChange[]) => void>()
  private readonly waiters = new Waiters()
  private branch = 0
  /** Of the branch's tickets; one string for all of its blocks. */
  private salt: string
  private next = 1

  constructor(journal: Journal, options: DevChainOptions) {
    this.settings = journal.settings
    this.letter = networkLetter(this.settings.networkName)
    this.options = options
    this.finalityEpochs = options.finalityEpochs
    this.certifiesFinality = options.certifiesFinality
    this.salt = `${this.settings.seed}/0`
    this.keeper = new JournalKeeper(journal)
    this.checks = new SignatureChecks((key, valid) => this.keeper.checked(key, valid))
    this.store = new ChainStore(options.stateHistoryEpochs)
    this.faucet = this.wallet('secp256k1', `${this.settings.seed}/faucet`)
    this.begin()
    restoreChain(journal.records, this.keeper, this)
  }

  head(): Tipset {
    return this.store.head
  }

  /** The height that is mined next. */
  get nextHeight(): number {
    return this.next
  }

  /** Told after each change of the head; ends with the function that it returns. */
  onHeadChange(listener: (changes: readonly HeadChange[]) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  createWallet(kind: KeyKind, seedText: string): Promise<Wallet> {
    return Promise.resolve(this.wallet(kind, seedText))
  }

  /** A message of the faucet: the money is there after the next tipset, an account with an ID with it. */
  fund(address: string, attoFil: bigint): Promise<string> {
    const to = parseAddress(address)
    if (to === null) return Promise.reject(new Error(`${address} is no address`))
    return this.faucet.send({ to, method: 0n, value: attoFil })
  }

  nextNonce(address: FilecoinAddress): Promise<bigint> {
    const mined = this.stateNow().find(address)?.nonce ?? 0n
    const waiting = this.pool.lastNonce(this.keyOf(address) ?? address)
    return Promise.resolve(waiting === undefined || waiting < mined ? mined : waiting + 1n)
  }

  /**
   * The message's CID. Rejects with a {@link RefusedMessage}: bad signature, used nonce, too small a premium.
   * `keepRival`: a message that this one replaces stays with some miners, so that either may run.
   */
  push(signed: SignedMessage, options: { keepRival?: boolean } = {}): Promise<string> {
    return Promise.resolve().then(() => {
      this.accept(signed, options)
      this.keeper.flush()
      return signed.cid
    })
  }

  /** Mines so many tipsets; null rounds may come between them. */
  async mine(tipsets = 1): Promise<Tipset> {
    let sliceEnd = Date.now() + 20
    for (let i = 0; i < tipsets; i++) {
      await this.beforeTipset?.()
      this.mineOne()
      if (Date.now() > sliceEnd) {
        await nextTurn()
        sliceEnd = Date.now() + 20
      }
    }
    this.keeper.flush()
    return this.head()
  }

  /** The next so many heights stay empty. */
  nullRound(epochs = 1): void {
    this.next += epochs
    this.keeper.nextHeight(this.next)
    this.keeper.flush()
  }

  /** So many null rounds at once: moves the chain's time. */
  skip(epochs: number): void {
    this.nullRound(epochs)
  }

  /**
   * Rebuilds the newest `depth` heights on another branch and makes it the chain, in one change of the head. What does
   * not come along waits to be mined.
   */
  reorg(depth: number, options: ReorgOptions = {}): { ancestor: Tipset; changes: readonly HeadChange[] } {
    const old = this.head()
    const ancestor = this.forkPoint(depth)
    this.setBranch(this.branch + 1)
    const random = this.random(`reorg ${old.height}`)
    const reverted = this.store.path(old, ancestor).map(({ tipset }) => tipset)
    const plan = planBranch([...reverted].reverse(), options, random)
    this.follow(this.store.setHead(ancestor))
    for (const height of plan.heights) {
      const ready = plan.turn(this.pool.ready(this.stateNow()), height)
      const missing = height === plan.heights.at(-1) ? old.weight + 1 - this.head().weight : 0
      const blocks = Math.max(this.blockCount(random), Math.min(missing, MINERS.length))
      const plans = planBlocks({
        height,
        salt: this.salt,
        blocks,
        random,
        ready,
        keepOrder: options.reorder ?? false,
      })
      const tipset = this.build(this.head(), height, plans, plan.costly)
      this.follow(this.store.setHead(tipset))
    }
    return { ancestor, changes: this.announce(this.store.path(old, this.head())) }
  }

  /** Replaces the head by a fuller tipset: the same blocks and one more, with what waits. */
  widen(): readonly HeadChange[] {
    const old = this.head()
    const { parent } = old
    const miner = MINERS.find((id) => old.blocks.every((block) => block.miner !== id))
    if (parent === null || miner === undefined) throw new Error('this tipset has no room for another block')
    const ready = this.pool.ready(this.stateNow())
    const fresh: BlockPlan = { miner, salt: this.salt, messages: ready.flatMap(({ messages }) => messages) }
    const wider = this.build(parent, old.height, [...old.blocks, fresh], old.costly)
    const changes = this.store.setHead(wider)
    this.follow(changes)
    return this.announce(changes)
  }

  /** An actor after the newest tipset that has receipts; undefined when there is none, or none any more. */
  readActor(address: string): Actor | undefined {
    const parsed = parseAddress(address)
    return parsed === null ? undefined : this.head().parent?.state?.find(parsed)
  }

  /** A channel as {@link readActor}, with its balance. */
  readChannel(address: string): ReadChannel | undefined {
    const actor = this.readActor(address)
    if (actor?.channel == null) return undefined
    const id = (number: number): string => `${this.letter}0${number}`
    const parties = { from: id(actor.channel.from), to: id(actor.channel.to) }
    return { ...actor.channel, ...parties, id: id(actor.id), balance: actor.balance }
  }

  /** What became of a message of the chain, once its receipt is there. */
  executionOf(cid: string): Execution | undefined {
    const tipset = this.store.inclusionOf(cid)
    const child = tipset === undefined ? undefined : this.store.childOf(tipset)
    const at = tipset?.execution.messages.findIndex((message) => message.cid === cid) ?? -1
    const receipt = tipset?.execution.receipts[at]
    if (tipset === undefined || child === undefined || receipt === undefined) return undefined
    return { cid, height: tipset.height, receipt, tipset, child }
  }

  /** Waits until the message was executed; a reorg can undo it afterwards. */
  waitFor(cid: string, signal?: AbortSignal): Promise<Execution> {
    const done = this.executionOf(cid)
    return done === undefined ? this.waiters.wait(cid, signal) : Promise.resolve(done)
  }

  /** The first height that is not final, less one. */
  finalHeight(): number {
    return Math.max(0, this.head().height - this.finalityEpochs)
  }

  /** Keeps a voucher of the node's store with the chain. */
  storeVoucher(channel: string, voucher: SignedVoucher): void {
    this.keeper.voucher(channel, voucher)
    this.keeper.flush()
  }

  timeOf(height: number): number {
    return this.settings.genesisTimeS + height * this.settings.epochDurationS
  }

  close(): void {
    this.waiters.close()
    this.keeper.close()
  }

  /** Parts that loading a kept chain repeats; see restoreChain. */
  restoring = {
    push: (signed: SignedMessage): void => {
      const signer = this.keyOf(signed.message.from)
      if (signer !== null) this.pool.add(signed, signer)
    },
    checked: (key: string, valid: boolean): void => this.checks.remember(key, valid),
    tipset: (parent: Tipset, height: number, plans: BlockPlan[], costly: ReadonlySet<string>): Tipset =>
      this.build(parent, height, plans, costly),
    head: (tipset: Tipset): void => this.follow(this.store.setHead(tipset)),
    branch: (number: number): void => {
      if (number > this.branch) this.setBranch(number)
    },
    voucher: (channel: string, voucher: SignedVoucher): void => {
      this.storedVouchers.push({ channel, voucher })
    },
    next: (height: number): void => {
      this.next = Math.max(this.next, height)
    },
  }

  private begin(): void {
    const before = genesisState(this.faucet.key)
    const plans = [{ miner: MINERS[0] ?? 0, salt: this.settings.seed, messages: [] }]
    const at = { height: 0, timestampS: this.settings.genesisTimeS, parent: null, plans, costly: NONE }
    const genesis = makeTipset(at, before, this.rules())
    this.store.add(genesis)
    this.keeper.added(genesis)
    this.store.setHead(genesis)
  }

  private mineOne(): void {
    const random = this.random(String(this.next))
    while (random.chance(this.options.nullRoundChance)) this.next++
    const height = this.next
    const ready: ReadyMessages[] = this.pool.ready(this.stateNow())
    const blocks = this.blockCount(random)
    const plans = planBlocks({ height, salt: this.salt, blocks, random, ready, keepOrder: false })
    const changes = this.store.setHead(this.build(this.head(), height, plans, NONE))
    this.follow(changes)
    this.announce(changes)
  }

  private build(
    parent: Tipset,
    height: number,
    plans: readonly BlockPlan[],
    costly: ReadonlySet<string>,
  ): Tipset {
    if (parent.state === null) throw new Error(`the state after height ${parent.height} was forgotten`)
    const at = { height, timestampS: this.timeOf(height), parent, plans, costly }
    const tipset = makeTipset(at, parent.state, this.rules())
    this.store.add(tipset)
    this.keeper.added(tipset)
    return tipset
  }

  /** The pool follows the head at once; the others are told when the change is whole. */
  private follow(changes: readonly HeadChange[]): void {
    for (const { type, tipset } of changes) {
      for (const message of tipset.execution.messages) {
        if (type === 'revert') this.pool.restore(message)
        else this.pool.included(message)
      }
    }
    this.next = Math.max(this.next, this.head().height + 1)
  }

  private announce(changes: readonly HeadChange[]): readonly HeadChange[] {
    this.keeper.head(this.head())
    this.waiters.settle((cid) => this.executionOf(cid))
    for (const listener of this.listeners) listener(changes)
    return changes
  }

  /** Its signatures were made a moment ago, by the library that would check them. */
  private wallet(kind: KeyKind, seedText: string): Wallet {
    const push = (signed: SignedMessage): Promise<string> =>
      Promise.resolve().then(() => {
        this.accept(signed, { signedBy: wallet.key })
        this.keeper.flush()
        return signed.cid
      })
    const nextNonce = (address: FilecoinAddress): Promise<bigint> => this.nextNonce(address)
    const wallet: Wallet = openWallet({ letter: this.letter, nextNonce, push }, kind, seedText)
    return wallet
  }

  private accept(signed: SignedMessage, options: { signedBy?: FilecoinAddress; keepRival?: boolean }): void {
    const { message, signature } = signed
    const signer = this.keyOf(message.from)
    if (signer === null) throw new RefusedMessage('the sender has no key')
    if (message.value < 0n || message.gasLimit <= 0n) throw new RefusedMessage('negative value or no gas')
    const isOurs = options.signedBy !== undefined && sameAddress(options.signedBy, signer)
    if (!isOurs && !this.checks.verify(messageSigningBytes(message), signature, signer)) {
      throw new RefusedMessage('signature verification failed')
    }
    if (message.nonce < (this.stateNow().find(signer)?.nonce ?? 0n)) {
      throw new RefusedMessage('minimum expected nonce is higher: message nonce too low')
    }
    if (this.pool.add(signed, signer, options.keepRival)) this.keeper.pushed(signed)
  }

  /** Key address of a sender; null when it has none. */
  private keyOf(address: FilecoinAddress): FilecoinAddress | null {
    if (address.protocol === 1 || address.protocol === 3) return address
    const actor = this.stateNow().find(address)
    return actor?.kind === 'account' ? actor.robust : null
  }

  private forkPoint(depth: number): Tipset {
    const { height } = this.head()
    const ancestor = this.store.atOrBelow(height - depth, this.head())
    if (depth < 1 || ancestor === this.head()) throw new Error('there is nothing to rebuild')
    if (ancestor.height < this.finalHeight()) {
      throw new Error(`height ${ancestor.height + 1} is final: no reorg goes so deep`)
    }
    return ancestor
  }

  /** After the head's own messages: what the next tipset builds on. */
  private stateNow(): WorldState {
    const { state } = this.head()
    if (state === null) throw new Error('the head has no state')
    return state
  }

  private rules() {
    return { settleDelayEpochs: this.settings.settleDelayEpochs, checks: this.checks }
  }

  private setBranch(number: number): void {
    this.branch = number
    this.salt = `${this.settings.seed}/${number}`
  }

  private random(purpose: string): Random {
    return createRandom(`${this.salt}/${purpose}`)
  }

  private blockCount(random: Random): number {
    const [fewest, most] = this.options.blocksPerTipset
    return random.int(fewest, Math.min(most, MINERS.length))
  }
}
