import { EMPTY_BLOOM } from '../../indexer/sources/evm/bloom.ts'
import { bloomBits, type BloomBits } from '../../indexer/sources/evm/bloom.ts'
import { EVENT_LAYOUTS } from '../../indexer/sources/evm/contracts.ts'
import type { ChainEvent, ContractRole, EvmEventKind } from '../../shared/events/chain-event.ts'
import { hash, seededRandom } from '../../test/helpers/random-chain.ts'
import { makeParties, type Parties } from './parties.ts'
import { SyntheticLoan, type LoanLog } from './synthetic-loan.ts'

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
  #made = 0

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

  hashOf(number: number): string {
    return hash(this.#seed, number > this.#forkAfter ? 'other block' : 'block', number)
  }

  #genesis(): SyntheticBlock {
    const block = { number: 0, hash: this.hashOf(0), timeS: GENESIS_S }
    return new BlockWriter(this.#seed, block, this.parties, (item) => this.#bitsOf(item)).finish(
      `0x${'0'.repeat(64)}`,
    )
  }

  #block(number: number): SyntheticBlock {
    const { blocks, events } = this.shape
    if (number === this.#forkAfter + 1) this.#random = seededRandom(this.#seed + 1)
    const due = Math.floor((number * events) / blocks) - this.#made
    const block = { number, hash: this.hashOf(number), timeS: GENESIS_S + number * BLOCK_S }
    const writer = new BlockWriter(this.#seed, block, this.parties, (item) => this.#bitsOf(item))
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
    return writer.finish(this.hashOf(number - 1))
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

/** Puts one block's logs into transactions and formats the node's answers. */
class BlockWriter {
  readonly #seed: number
  readonly #block: { number: number; hash: string; timeS: number }
  readonly #parties: Parties
  readonly #bitsOf: (item: string) => BloomBits
  readonly #bloom = new Uint8Array(EMPTY_BLOOM.length - 2)
  readonly #logs: SyntheticLog[] = []
  readonly #events: ChainEvent[] = []
  readonly #transactions: string[] = []
  #ordinals = { erc20Loans: 0, erc20CollateralLock: 0 }

  constructor(
    seed: number,
    block: { number: number; hash: string; timeS: number },
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
    this.#newTransaction('stranger', this.#block.hash, this.#transactions.length)
    this.#log(stranger.address, stranger.topics, '0'.repeat(62) + '2a', false)
  }

  /** Adds one call's logs; `isBatched`: in the previous call's transaction, like a contract wallet. */
  move(loan: SyntheticLoan, logs: readonly LoanLog[], isBatched: boolean): void {
    // Named by the move and not by its block: in another branch the move is the same transaction.
    if (!isBatched || this.#events.length === 0) this.#newTransaction(loan.role, loan.id, loan.moves)
    const { number, hash: blockHash, timeS } = this.#block
    const contract = this.#parties.contracts[loan.role]
    for (const { kind, args, terms, data, tokenDecimals } of logs) {
      const txLogIndex = this.#ordinals[loan.role]
      this.#ordinals[loan.role] += 1
      const event = {
        ...{ blockNumber: number, blockHash, blockTimeS: timeS, txHash: this.#transactions.at(-1) ?? '' },
        ...{ logIndex: this.#logs.length, txLogIndex, contract, role: loan.role },
        ...{ loanId: loan.id, kind, contractLoanId: loan.id, args, terms: { values: terms }, tokenDecimals },
      }
      this.#events.push(event as unknown as ChainEvent)
      this.#log(contract.toLowerCase(), [TOPICS.get(kind) ?? ''], data, true)
    }
  }

  finish(parentHash: string): SyntheticBlock {
    const { number, hash: blockHash, timeS } = this.#block
    return {
      number,
      hash: blockHash,
      header: headerText({
        ...{ number, hash: blockHash, parentHash, timeS, transactions: this.#transactions },
        bloom: Array.from(this.#bloom, (digit) => digit.toString(16)).join(''),
      }),
      logs: this.#logs,
      events: this.#events,
    }
  }

  #newTransaction(...name: (string | number)[]): void {
    this.#transactions.push(hash(this.#seed, 'tx', ...name))
    this.#ordinals = { erc20Loans: 0, erc20CollateralLock: 0 }
  }

  #log(address: string, topics: readonly string[], data: string, isOurs: boolean): void {
    for (const item of [address, ...topics]) {
      for (const { digit, mask } of this.#bitsOf(item)) {
        this.#bloom[digit - 2] = (this.#bloom[digit - 2] ?? 0) | mask
      }
    }
    const { number, hash: blockHash, timeS } = this.#block
    const place = `"blockNumber":"0x${number.toString(16)}","transactionHash":"${this.#transactions.at(-1) ?? ''}","transactionIndex":"0x${(this.#transactions.length - 1).toString(16)}","blockHash":"${blockHash}","blockTimestamp":"0x${timeS.toString(16)}","logIndex":"0x${this.#logs.length.toString(16)}"`
    const text = `{"address":"${address}","topics":["${topics.join('","')}"],"data":"0x${data}",${place},"removed":false}`
    this.#logs.push({ text, isOurs })
  }
}

/** Includes all header fields of a present node, because a parser reads all of them. */
function headerText(block: {
  number: number
  hash: string
  parentHash: string
  timeS: number
  bloom: string
  transactions: readonly string[]
}): string {
  const other = block.hash.replaceAll('0', '1')
  const hex = (value: number): string => `"0x${value.toString(16)}"`
  const transactions = block.transactions.map((transaction) => `"${transaction}"`).join(',')
  return `{"number":${hex(block.number)},"hash":"${block.hash}","parentHash":"${block.parentHash}","nonce":"0x0000000000000000","sha3Uncles":"${other}","logsBloom":"0x${block.bloom}","transactionsRoot":"${other}","stateRoot":"${other}","receiptsRoot":"${other}","withdrawalsRoot":"${other}","miner":"${other.slice(0, 42)}","difficulty":"0x0","totalDifficulty":"0x0","extraData":"0x","size":"0x4d2","gasLimit":"0x1c9c380","gasUsed":"0xa410","timestamp":${hex(block.timeS)},"baseFeePerGas":"0x7","mixHash":"${other}","transactions":[${transactions}],"uncles":[]}`
}
