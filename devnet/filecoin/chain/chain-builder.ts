import type { FilecoinAddress } from '../../../shared/filecoin/address.ts'
import type { SignedVoucher } from '../../../shared/filecoin/voucher.ts'
import { createRandom, type Random } from '../../evm/random.ts'
import { addressKey, addressOfKey } from '../vm/address-key.ts'
import { SignatureChecks } from '../vm/signature-checks.ts'
import type { WorldState } from '../vm/world-state.ts'
import { MINERS, planBlocks } from './block-plans.ts'
import type { BlockPlan } from './block.ts'
import { ChainStore, type HeadChange } from './chain-store.ts'
import { genesisState } from './genesis.ts'
import type { ChainSettings, Journal } from './journal.ts'
import { JournalKeeper, restoreChain, type Restorable } from './journal-keeper.ts'
import { MessagePool, type ReadyMessages } from './message-pool.ts'
import { planBranch, type ReorgOptions } from './reorg-plan.ts'
import type { SignedMessage } from './signed-message.ts'
import { makeTipset, type Tipset } from './tipset.ts'

export interface BuilderOptions {
  /** Fewest and most blocks of a tipset. */
  blocksPerTipset: readonly [number, number]
  /** The probability that a height stays empty. */
  nullRoundChance: number
  /** The deepest possible reorg below the head, in epochs. */
  finalityEpochs: number
  /** Epochs for which the state can be queried. */
  stateHistoryEpochs: number
}

export interface Reorganized {
  ancestor: Tipset
  changes: readonly HeadChange[]
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Builds tipsets and moves the head. Each step is synchronous, because the seed and the pushed messages determine its
 * outcome.
 */
export class ChainBuilder implements Restorable {
  readonly store: ChainStore
  readonly pool = new MessagePool()
  readonly keeper: JournalKeeper
  readonly checks: SignatureChecks
  /** Vouchers of earlier runs for the node's store, with their channels' robust addresses. */
  readonly storedVouchers: { channel: string; voucher: SignedVoucher }[] = []
  private readonly settings: ChainSettings
  private readonly options: BuilderOptions
  private readonly faucet: FilecoinAddress
  private branch = 0
  /** Salt of the branch's tickets, one string shared by all of its blocks. */
  private salt: string
  private next = 1

  constructor(journal: Journal, options: BuilderOptions, faucet: FilecoinAddress) {
    this.settings = journal.settings
    this.options = options
    this.faucet = faucet
    this.salt = `${this.settings.seed}/0`
    this.keeper = new JournalKeeper(journal)
    this.checks = new SignatureChecks((key, valid) => this.keeper.checked(key, valid))
    this.store = new ChainStore(options.stateHistoryEpochs)
    this.begin()
    restoreChain(journal.records, this.keeper, this)
  }

  get nextHeight(): number {
    return this.next
  }

  /** The state after the head's own messages, on which the next tipset builds. */
  get stateNow(): WorldState {
    const { state } = this.store.head
    if (state === null) throw new Error('the head has no state')
    return state
  }

  /** Returns a sender's key address, or null when it has none. */
  keyOf(address: FilecoinAddress): FilecoinAddress | null {
    if (address.protocol === 1 || address.protocol === 3) return address
    const actor = this.stateNow.find(address)
    return actor?.kind === 'account' ? actor.robust : null
  }

  /** Heights up to this one can no longer be rebuilt. */
  private finalHeight(): number {
    return Math.max(0, this.store.head.height - this.options.finalityEpochs)
  }

  skip(epochs: number): void {
    this.next += epochs
    this.keeper.nextHeight(this.next)
  }

  /** Mines one tipset with the pending messages. */
  mine(): readonly HeadChange[] {
    const random = this.random(String(this.next))
    while (random.chance(this.options.nullRoundChance)) this.next++
    const height = this.next
    const plans = planBlocks({
      height,
      salt: this.salt,
      blocks: this.blockCount(random),
      random,
      ready: this.pool.ready(this.stateNow),
      keepOrder: false,
    })
    const changes = this.moveTo(this.build(this.store.head, height, plans, NONE))
    this.keeper.head(this.store.head)
    return changes
  }

  /** See `DevChain.reorg`. */
  reorg(depth: number, options: ReorgOptions): Reorganized {
    const old = this.store.head
    const ancestor = this.forkPoint(depth)
    this.setBranch(this.branch + 1)
    const random = this.random(`reorg ${old.height}`)
    const reverted = this.store.path(old, ancestor).map(({ tipset }) => tipset)
    const plan = planBranch([...reverted].reverse(), options, random, this.faucet)
    this.moveTo(ancestor)
    plan.heights.forEach((height, i) => {
      const { head } = this.store
      const plans = planBlocks({
        height,
        salt: this.salt,
        blocks: this.blockCount(random, (old.weight + 1 - head.weight) / (plan.heights.length - i)),
        random,
        ready: plan.turn(this.pool.ready(this.stateNow), height),
        keepOrder: options.reorder ?? false,
      })
      this.moveTo(this.build(head, height, plans, plan.costly))
    })
    this.keeper.head(this.store.head)
    return { ancestor, changes: this.store.path(old, this.store.head) }
  }

  /** See `DevChain.widen`. */
  widen(): readonly HeadChange[] {
    const old = this.store.head
    const { parent } = old
    const miner = MINERS.find((id) => old.blocks.every((block) => block.miner !== id))
    if (parent === null || miner === undefined) throw new Error('this tipset has no room for another block')
    const messages = this.pool.ready(this.stateNow).flatMap((sender) => this.sinceParent(old, sender))
    const fresh: BlockPlan = { miner, salt: this.salt, messages }
    const changes = this.moveTo(this.build(parent, old.height, [...old.blocks, fresh], old.costly))
    this.keeper.head(this.store.head)
    return changes
  }

  /**
   * Returns a sender's messages that are valid on the state of the tipset's parent. Those already in the tipset come
   * first, because its blocks have no order yet. Returns none for a sender whose account the tipset itself created.
   */
  private sinceParent(
    { parent, execution }: Tipset,
    { signer, messages }: ReadyMessages,
  ): readonly SignedMessage[] {
    const key = addressOfKey(signer)
    if (key === null || parent?.state?.find(key)?.kind !== 'account') return []
    const own = execution.messages.filter(({ message }) => {
      const from = this.keyOf(message.from)
      return from !== null && addressKey(from) === signer
    })
    return [...own, ...messages]
  }

  restorePush(signed: SignedMessage, keepRival: boolean): void {
    const signer = this.keyOf(signed.message.from)
    if (signer !== null) this.pool.add(signed, signer, keepRival)
  }

  restoreTipset(
    parent: Tipset,
    height: number,
    plans: readonly BlockPlan[],
    costly: ReadonlySet<string>,
  ): Tipset {
    const branch = Number(plans[0]?.salt.slice(plans[0].salt.lastIndexOf('/') + 1))
    if (branch > this.branch) this.setBranch(branch)
    return this.build(parent, height, plans, costly)
  }

  restoreNext(height: number): void {
    this.next = Math.max(this.next, height)
  }

  restoreVoucher(channel: string, voucher: SignedVoucher): void {
    this.storedVouchers.push({ channel, voucher })
  }

  /** Makes a tipset the head and updates the pool. */
  moveTo(tipset: Tipset): readonly HeadChange[] {
    const changes = this.store.setHead(tipset)
    for (const change of changes) {
      for (const message of change.tipset.execution.messages) {
        if (change.type === 'revert') this.pool.restore(message)
        else this.pool.included(message)
      }
    }
    this.next = Math.max(this.next, this.store.head.height + 1)
    return changes
  }

  private begin(): void {
    const plans = [{ miner: MINERS[0] ?? 0, salt: this.settings.seed, messages: [] }]
    const at = { height: 0, timestampS: this.settings.genesisTimeS, parent: null, plans, costly: NONE }
    const genesis = makeTipset(at, genesisState(this.faucet), this.rules())
    this.store.add(genesis)
    this.keeper.added(genesis)
    this.store.setHead(genesis)
  }

  private build(
    parent: Tipset,
    height: number,
    plans: readonly BlockPlan[],
    costly: ReadonlySet<string>,
  ): Tipset {
    if (parent.state === null) throw new Error(`the state after height ${parent.height} was forgotten`)
    const timestampS = this.settings.genesisTimeS + height * this.settings.epochDurationS
    const tipset = makeTipset({ height, timestampS, parent, plans, costly }, parent.state, this.rules())
    this.store.add(tipset)
    this.keeper.added(tipset)
    return tipset
  }

  private forkPoint(depth: number): Tipset {
    const { head } = this.store
    const ancestor = this.store.atOrBelow(head.height - depth, head)
    if (depth < 1 || ancestor === head) throw new Error('there is nothing to rebuild')
    if (ancestor.height < this.store.atOrBelow(this.finalHeight(), head).height) {
      throw new Error(`height ${ancestor.height + 1} is final: no reorg goes so deep`)
    }
    return ancestor
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

  /** `needed` is the number of blocks that a branch needs to end up heavier. */
  private blockCount(random: Random, needed = 0): number {
    const [fewest, most] = this.options.blocksPerTipset
    return Math.min(MINERS.length, Math.max(random.int(fewest, most), Math.ceil(needed)))
  }
}
