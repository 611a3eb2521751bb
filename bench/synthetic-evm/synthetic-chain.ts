import { EMPTY_BLOOM } from '../../indexer/sources/evm/bloom.ts'
import { bloomBits, type BloomBits } from '../../indexer/sources/evm/bloom.ts'
import { headerHash } from '../../indexer/sources/evm/proof/header-hash.ts'
import { receiptsRoot } from '../../indexer/sources/evm/proof/receipts-root.ts'
import { EVENT_LAYOUTS } from '../../indexer/sources/evm/contracts.ts'
import type { ChainEvent, ContractRole, EvmEventKind } from '../../shared/events/chain-event.ts'
import { hash, seededRandom } from '../../test/helpers/random-chain.ts'
import { makeParties, type Parties } from './parties.ts'
import { SyntheticLoan, type LoanLog } from './synthetic-loan.ts'
import {
  headerFields,
  logText,
  receiptsOf,
  transactionsRootOf,
  transactionWith,
  type SyntheticTransaction,
} from './node-texts.ts'

/** The size of a synthetic chain; blocks are numbered from 1. */
export interface ChainShape {
  events: number
  blocks: number
  /** Logs of other contracts in each block. */
  strangerLogs: number
}

export const SHAPES = {
  dense: { events: 100_000, blocks: 10_000, strangerLogs: 2 },
  sparse: { events: 20_000, blocks: 100_000, strangerLogs: 3 },
} as const satisfies Record<string, ChainShape>
export type ShapeName = keyof typeof SHAPES

/** Scales a shape to `events` events, if given, at the same density. */
export function scaledShape(name: ShapeName, events: number | undefined): ChainShape {
  const shape = SHAPES[name]
  if (events === undefined) return shape
  return { ...shape, events, blocks: Math.ceil((shape.blocks * events) / shape.events) }
}

export interface SyntheticLog {
  /** JSON-RPC text. */
  text: string
  isOurs: boolean
}

/** One block as a node shows it, together with the truth that an index must hold. */
export interface SyntheticBlock {
  number: number
  hash: string
  header: string
  transactions: SyntheticTransaction[]
  logs: SyntheticLog[]
  events: ChainEvent[]
}

export const CHAIN_ID = 31_337
const GENESIS_S = 1_650_000_000
const BLOCK_S = 12
/** Simultaneous open loans. */
const POOL = 300

/**
 * A chain on which loans live, made block by block; the same seed and shape make the same chain. The blocks after
 * `forkAfter` form another branch with the same loans. Some moves come in other blocks, some are missing, some are
 * extra.
 */
export class SyntheticChain {
  readonly shape: ChainShape
  readonly parties: Parties
  /** Every loan that was made, by `<role>/<id>`. */
  readonly loans = new Map<string, SyntheticLoan>()
  readonly #seed: number
  readonly #forkAfter: number
  #random: ReturnType<typeof seededRandom>
  readonly #pool: SyntheticLoan[] = []
  readonly #ids = { erc20Loans: 0, erc20CollateralLock: 0 }
  readonly #bits = new Map<string, BloomBits>()
  readonly #hashes: string[] = []
  #made = 0
  #parentHash = ''

  constructor(shape: ChainShape, seed = 1, forkAfter = Infinity) {
    this.shape = shape
    this.#seed = seed
    this.#forkAfter = forkAfter
    this.#random = seededRandom(seed)
    this.parties = makeParties(seed)
  }

  /** Yields blocks 0, which is empty, to `shape.blocks`, once. */
  *blocks(): Generator<SyntheticBlock> {
    yield this.#genesis()
    for (let number = 1; number <= this.shape.blocks; number += 1) yield this.#block(number)
  }

  /** A hash follows from the block's content, so the first question makes the whole chain once more. */
  hashOf(number: number): string {
    if (this.#hashes.length === 0)
      for (const block of new SyntheticChain(this.shape, this.#seed, this.#forkAfter).blocks())
        this.#hashes.push(block.hash)
    return this.#hashes[number] ?? ''
  }

  #genesis(): SyntheticBlock {
    this.#parentHash = `0x${'0'.repeat(64)}`
    return this.#finish(this.#writer({ number: 0, timeS: GENESIS_S }))
  }

  #writer(block: { number: number; timeS: number }): BlockWriter {
    const branch = block.number > this.#forkAfter ? 1 : 0
    return new BlockWriter(this.#seed, { ...block, branch }, this.parties, (item) => this.#bitsOf(item))
  }

  #finish(writer: BlockWriter): SyntheticBlock {
    const block = writer.finish(this.#parentHash)
    this.#parentHash = block.hash
    return block
  }

  #block(number: number): SyntheticBlock {
    const { blocks, events } = this.shape
    if (number === this.#forkAfter + 1) this.#random = seededRandom(this.#seed + 1)
    const due = Math.floor((number * events) / blocks) - this.#made
    const block = { number, timeS: GENESIS_S + number * BLOCK_S }
    const writer = this.#writer(block)
    for (let index = 0; index < this.shape.strangerLogs; index += 1) {
      writer.stranger(this.#random.below(this.parties.strangers.length))
    }
    for (let left = due; left > 0;) {
      const loan = this.#choose(number, number === blocks ? left : Infinity)
      const isBatched = this.#random.chance(0.2)
      const logs = loan.advance(block)
      writer.move(loan, logs, isBatched)
      left -= logs.length
      this.#made += logs.length
    }
    return this.#finish(writer)
  }

  /** Chooses a loan without a move in this block, so that the block's end state shows each move's result. */
  #choose(block: number, mostLogs: number): SyntheticLoan {
    for (let tries = 0; ; tries += 1) {
      const at = this.#random.below(POOL)
      let loan = this.#pool[at]
      if (loan === undefined || loan.isOver || tries > POOL) loan = this.#pool[at] = this.#newLoan()
      if (loan.lastBlock !== block && loan.nextLogs <= mostLogs) return loan
    }
  }

  #newLoan(): SyntheticLoan {
    const idOf = (role: ContractRole): string => String((this.#ids[role] += 1))
    const loan = new SyntheticLoan(this.parties, this.#seed, this.loans.size, idOf)
    this.loans.set(`${loan.role}/${loan.id}`, loan)
    return loan
  }

  #bitsOf(item: string): BloomBits {
    let bits = this.#bits.get(item)
    if (bits === undefined) this.#bits.set(item, (bits = bloomBits(item)))
    return bits
  }
}

const TOPICS = new Map<EvmEventKind, string>(
  Object.values(EVENT_LAYOUTS).flatMap((layouts) =>
    [...layouts.values()].map(({ kind, topic }): [EvmEventKind, string] => [kind, topic]),
  ),
)

/** A log before its block's hash is known. */
interface DraftLog {
  address: string
  topics: readonly string[]
  data: string
  transactionIndex: number
  /** The event's own fields; null for a log of another contract. */
  event: object | null
}

/** Puts one block's logs into transactions and formats the node's answers. */
class BlockWriter {
  readonly #seed: number
  readonly #block: { number: number; timeS: number; branch: 0 | 1 }
  readonly #parties: Parties
  readonly #bitsOf: (item: string) => BloomBits
  readonly #bloom = new Uint8Array(EMPTY_BLOOM.length - 2)
  readonly #logs: DraftLog[] = []
  readonly #transactions: SyntheticTransaction[] = []
  #ordinals = { erc20Loans: 0, erc20CollateralLock: 0 }

  /** `branch` tells blocks of the two branches apart that are otherwise the same. */
  constructor(
    seed: number,
    block: { number: number; timeS: number; branch: 0 | 1 },
    parties: Parties,
    bitsOf: (item: string) => BloomBits,
  ) {
    this.#seed = seed
    this.#block = block
    this.#parties = parties
    this.#bitsOf = bitsOf
  }

  stranger(at: number): void {
    const stranger = this.#parties.strangers[at]
    if (stranger === undefined) return
    this.#newTransaction('stranger', this.#block.branch, this.#block.number, this.#transactions.length)
    this.#log(stranger.address, stranger.topics, '0'.repeat(62) + '2a', null)
  }

  /** Adds one call's logs; `isBatched`: in the previous call's transaction, like a contract wallet. */
  move(loan: SyntheticLoan, logs: readonly LoanLog[], isBatched: boolean): void {
    // Named by the move and not by its block: in another branch the move is the same transaction.
    const isFirst = this.#logs.every(({ event }) => event === null)
    if (!isBatched || isFirst) this.#newTransaction(loan.role, loan.id, loan.moves)
    const contract = this.#parties.contracts[loan.role]
    for (const { kind, args, terms, data, tokenDecimals } of logs) {
      const txLogIndex = this.#ordinals[loan.role]
      this.#ordinals[loan.role] += 1
      const event = {
        ...{ logIndex: this.#logs.length, txLogIndex, contract, role: loan.role },
        ...{ loanId: loan.id, kind, contractLoanId: loan.id, args, terms: { values: terms }, tokenDecimals },
      }
      this.#log(contract.toLowerCase(), [TOPICS.get(kind) ?? ''], data, event)
    }
  }

  finish(parentHash: string): SyntheticBlock {
    const { number, timeS } = this.#block
    const header = {
      ...{ number, timeS, branch: this.#block.branch, parentHash },
      bloom: Array.from(this.#bloom, (digit) => digit.toString(16)).join(''),
      transactionsRoot: transactionsRootOf(this.#transactions),
      receiptsRoot: receiptsRoot(receiptsOf(this.#transactions.length, this.#logs)),
    }
    const fields = headerFields(header)
    const blockHash = headerHash(fields) ?? ''
    const place = { blockNumber: number, blockHash, blockTimeS: timeS }
    const txHashOf = (log: DraftLog): string => this.#transactions[log.transactionIndex]?.hash ?? ''
    return {
      number,
      hash: blockHash,
      header: JSON.stringify({
        ...{ hash: blockHash, ...fields, totalDifficulty: '0x0', size: '0x4d2' },
        ...{ transactions: this.#transactions.map(({ hash }) => hash), uncles: [] },
      }),
      transactions: this.#transactions,
      logs: this.#logs.map((log, logIndex) => ({
        text: logText({ ...log, ...place, logIndex, txHash: txHashOf(log) }),
        isOurs: log.event !== null,
      })),
      events: this.#logs.flatMap((log) =>
        log.event === null
          ? []
          : ({ ...place, txHash: txHashOf(log), ...log.event } as unknown as ChainEvent),
      ),
    }
  }

  #newTransaction(...name: (string | number)[]): void {
    this.#transactions.push(transactionWith(hash(this.#seed, 'tx', ...name)))
    this.#ordinals = { erc20Loans: 0, erc20CollateralLock: 0 }
  }

  #log(address: string, topics: readonly string[], data: string, event: object | null): void {
    for (const item of [address, ...topics]) {
      for (const { digit, mask } of this.#bitsOf(item)) {
        this.#bloom[digit - 2] = (this.#bloom[digit - 2] ?? 0) | mask
      }
    }
    this.#logs.push({
      ...{ address, topics, data: `0x${data}`, event },
      transactionIndex: this.#transactions.length - 1,
    })
  }
}
