import { receiptsRoot } from '../../../shared/filecoin/receipt.ts'
import { dispatch } from '../actors/dispatch.ts'
import { addressKey } from '../vm/address-key.ts'
import { executeMessage, type Receipt } from '../vm/execute-message.ts'
import type { Surroundings } from '../vm/machine.ts'
import type { WorldState } from '../vm/world-state.ts'
import { cidText, linkOf, makeBlock, type Ancestry, type Block, type BlockPlan } from './block.ts'
import { isBls, type SignedMessage } from './signed-message.ts'

/** The outcome of a tipset's messages; its children commit to it. */
export interface Execution {
  /** Each once, in the order of execution. */
  messages: readonly SignedMessage[]
  receipts: readonly Receipt[]
  receiptsRoot: string
}

/** Blocks of one height with the same parents. */
export interface Tipset {
  height: number
  timestampS: number
  parent: Tipset | null
  /** Ordered by ticket. */
  blocks: readonly Block[]
  weight: number
  /** CID of the state before its messages. */
  parentStateRoot: string
  execution: Execution
  /** State after its messages; null once dropped. */
  state: WorldState | null
  /** CIDs of messages that cost more than their limit in this branch. */
  costly: ReadonlySet<string>
}

export interface TipsetRules {
  settleDelayEpochs: number
  checks: Surroundings['checks']
}

export interface TipsetPlan {
  height: number
  timestampS: number
  parent: Tipset | null
  plans: readonly BlockPlan[]
  costly: ReadonlySet<string>
}

/** With the events, as on every network today. */
const RECEIPT_FIELDS = 4
const NOTHING: Execution = { messages: [], receipts: [], receiptsRoot: receiptsRootOf([]) }

/** Builds the blocks on `parent` and executes their messages on the state `before`. */
export function makeTipset(plan: TipsetPlan, before: WorldState, rules: TipsetRules): Tipset {
  const { height, timestampS, parent, costly } = plan
  const parentStateRoot = before.root
  const ancestry = ancestryOf({ ...plan, parentStateRoot })
  const blocks = plan.plans
    .map((block) => makeBlock(block, ancestry))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ miner, salt, messages, cid }) => ({ miner, salt, messages, cid }))
  const weight = (parent?.weight ?? 0) + blocks.length
  const included = messagesOf(blocks, before)
  const around = { ...rules, epoch: height, dispatch }
  const { execution, state } = execute(included, before, around, costly)
  return { height, timestampS, parent, blocks, weight, parentStateRoot, execution, state, costly }
}

type Placed = Pick<Tipset, 'height' | 'timestampS' | 'parent' | 'parentStateRoot'>

export function ancestryOf({ height, timestampS, parent, parentStateRoot }: Placed): Ancestry {
  return {
    height,
    timestampS,
    parents: parent?.blocks.map(({ cid }) => linkOf(cid)) ?? [],
    parentWeight: parent?.weight ?? 0,
    parentStateRoot,
    parentReceiptsRoot: (parent?.execution ?? NOTHING).receiptsRoot,
  }
}

/**
 * Returns the messages to execute, block by block, BLS before secp256k1 within a block. Repeated messages run once; of
 * several with the same sender and nonce, the first runs. Each block must be valid on the state `before`: a sender's
 * first message has the account's nonce.
 */
function messagesOf(blocks: readonly Block[], before: WorldState): SignedMessage[] {
  const next = new Map<string, bigint>()
  const chosen: SignedMessage[] = []
  for (const { messages } of blocks) {
    for (const message of [...messages.filter(isBls), ...messages.filter((other) => !isBls(other))]) {
      const { from, nonce } = message.message
      const actor = before.find(from)
      const sender = String(actor?.id ?? addressKey(from))
      if (!next.has(sender) && actor !== undefined && actor.nonce !== nonce) {
        throw new Error(`a block that begins with nonce ${nonce} of a sender at ${actor.nonce} is not valid`)
      }
      if ((next.get(sender) ?? nonce) !== nonce) continue
      next.set(sender, nonce + 1n)
      chosen.push(message)
    }
  }
  return chosen
}

function execute(
  messages: readonly SignedMessage[],
  before: WorldState,
  around: Surroundings,
  costly: ReadonlySet<string>,
): { execution: Execution; state: WorldState } {
  if (messages.length === 0) return { execution: NOTHING, state: before }
  let state = before
  const receipts: Receipt[] = []
  for (const signed of messages) {
    const outcome = executeMessage(state, signed, around, costly.has(signed.cid))
    receipts.push(outcome.receipt)
    state = outcome.state
  }
  return { execution: { messages, receipts, receiptsRoot: receiptsRootOf(receipts) }, state }
}

function receiptsRootOf(receipts: readonly Receipt[]): string {
  const linked = receipts.map((receipt) => ({
    ...receipt,
    eventsRoot: receipt.eventsRoot === null ? null : linkOf(receipt.eventsRoot),
  }))
  return cidText(receiptsRoot(linked, RECEIPT_FIELDS))
}

/** Returns the tipset's key: its blocks' CIDs in order. */
export function keyOf(tipset: Tipset): string[] {
  return tipset.blocks.map(({ cid }) => cid)
}
