import { createHash } from 'node:crypto'
import { isEvmLoanEvent, type ChainEvent, type EvmLoanEvent } from '../../shared/events/chain-event.ts'
import type { BlockHeader, BlockRef, BlocksStep, ReorgStep } from '../../shared/events/chain-step.ts'

/** A seeded source of numbers: the same seed gives the same sequence. */
export function seededRandom(seed: number): { below: (n: number) => number; chance: (p: number) => boolean } {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return { below: (n) => Math.floor(next() * n), chance: (p) => next() < p }
}

const TOKEN = '0x00000000000000000000000000000000000000AA'
const LENDER = '0x00000000000000000000000000000000000000b1'
const BORROWER = '0x00000000000000000000000000000000000000b2'

export function hash(...parts: (string | number)[]): string {
  return `0x${createHash('sha256').update(parts.join('/')).digest('hex')}`
}

export interface RandomBlock extends BlockHeader {
  events: ChainEvent[]
}

interface Tx {
  txHash: string
  loanId: string
  kind: 'CreateLoanOffer' | 'ApproveRequest' | 'Withdraw' | 'CancelLoan' | 'Undecodable'
}

/**
 * A chain of blocks with loan events that can switch to another branch. Some transactions of the old branch are also in
 * the new one (at other heights, some as another loan), some are gone, some are new.
 */
export class RandomChain {
  readonly blocks: RandomBlock[] = []
  readonly #random: ReturnType<typeof seededRandom>
  #txs = 0
  #loans = 0

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    this.#mine([])
  }

  get head(): RandomBlock {
    const head = this.blocks.at(-1)
    if (head === undefined) throw new Error('an empty chain')
    return head
  }

  get events(): ChainEvent[] {
    return this.blocks.flatMap((block) => block.events)
  }

  /** Mines `count` blocks and returns them as one step. */
  grow(count: number): BlocksStep {
    const after = ref(this.head)
    for (let mined = 0; mined < count; mined += 1) this.#mine(this.#newTxs())
    return { type: 'blocks', from: after.number + 1, after, ...this.#stretch(after.number) }
  }

  /** Returns the step of the first block alone. */
  genesis(): BlocksStep {
    return { type: 'blocks', from: 0, after: null, ...this.#stretch(-1) }
  }

  /** Takes `depth` blocks back and mines `length` others. */
  reorg(depth: number, length: number): ReorgStep {
    const replaces = ref(this.head)
    const gone = this.blocks.splice(this.blocks.length - depth, depth)
    const ancestor = ref(this.head)
    const pool = gone.flatMap((block) => block.events.map(toTx)).filter(() => !this.#random.chance(0.2))
    for (let mined = 0; mined < length; mined += 1) {
      const here = mined === length - 1 ? pool.splice(0) : pool.splice(0, this.#random.below(3))
      this.#mine([
        ...here.map((tx) => (this.#random.chance(0.2) ? { ...tx, loanId: this.#newLoan() } : tx)),
        ...this.#newTxs(),
      ])
    }
    return { type: 'reorg', ancestor, replaces, ...this.#stretch(ancestor.number) }
  }

  #stretch(after: number): Pick<BlocksStep, 'to' | 'headers' | 'events' | 'evidence'> {
    const blocks = this.blocks.filter((block) => block.number > after)
    const first = blocks[0]?.number ?? 0
    return {
      to: header(this.head),
      headers: blocks.map(header),
      events: blocks.flatMap((block) => block.events),
      evidence: [{ from: first, to: this.head.number, endpoint: 'test', check: 'bloom' }],
    }
  }

  #newTxs(): Tx[] {
    return Array.from({ length: this.#random.below(4) }, () => {
      this.#txs += 1
      const txHash = hash('tx', this.#txs)
      if (this.#random.chance(0.05)) return { txHash, loanId: '', kind: 'Undecodable' as const }
      if (this.#loans === 0 || this.#random.chance(0.4))
        return { txHash, loanId: this.#newLoan(), kind: 'CreateLoanOffer' as const }
      const kinds = ['ApproveRequest', 'Withdraw', 'CancelLoan'] as const
      return {
        txHash,
        loanId: String(1 + this.#random.below(this.#loans)),
        kind: kinds[this.#random.below(3)] ?? 'Withdraw',
      }
    })
  }

  #newLoan(): string {
    this.#loans += 1
    return String(this.#loans)
  }

  #mine(txs: Tx[]): void {
    const parent = this.blocks.at(-1)
    const number = (parent?.number ?? -1) + 1
    const block = {
      number,
      hash: hash(
        parent?.hash ?? 'genesis',
        number,
        ...txs.map((tx) => tx.txHash + tx.loanId),
        this.#random.below(1e9),
      ),
      parentHash: parent?.hash ?? hash('none'),
      timeS: 1_700_000_000 + number,
    }
    this.blocks.push({ ...block, events: txs.map((tx, logIndex) => toEvent(tx, block, logIndex)) })
  }
}

function toTx(event: ChainEvent): Tx {
  if (!isEvmLoanEvent(event)) return { txHash: event.txHash, loanId: '', kind: 'Undecodable' }
  return { txHash: event.txHash, loanId: event.loanId, kind: event.kind as Tx['kind'] }
}

function toEvent(tx: Tx, block: BlockHeader, logIndex: number): ChainEvent {
  const place = {
    blockNumber: block.number,
    blockHash: block.hash,
    blockTimeS: block.timeS,
    txHash: tx.txHash,
    logIndex,
    txLogIndex: 0,
    contract: '0x00000000000000000000000000000000000000C0',
    role: 'erc20Loans' as const,
  }
  if (tx.kind === 'Undecodable') {
    return { ...place, kind: tx.kind, reason: 'noise', topics: [], dataHead: '0x', dataBytes: 0 }
  }
  const loan = { ...place, contractLoanId: tx.loanId, loanId: tx.loanId, tokenDecimals: 6 }
  const amounts: Record<Exclude<Tx['kind'], 'Undecodable'>, () => EvmLoanEvent> = {
    CreateLoanOffer: () => ({
      ...loan,
      kind: 'CreateLoanOffer',
      args: { lender: LENDER, principal: '1500000', token: TOKEN },
      terms: {
        values: { secretHashB1: hash('b1'), filLender: '0x7431', interest: '7', loanExpirationPeriod: '60' },
      },
    }),
    ApproveRequest: () => ({
      ...loan,
      kind: 'ApproveRequest',
      args: {
        borrower: BORROWER,
        filBorrower: '0x7431',
        secretHashA1: hash('a1'),
        paymentChannelId: hash('channel', tx.txHash),
        collateralAmount: '1',
      },
      terms: {
        values: { loanExpiration: String(block.timeS + 60), acceptExpiration: String(block.timeS + 120) },
      },
    }),
    Withdraw: () => ({
      ...loan,
      kind: 'Withdraw',
      args: { borrower: BORROWER, amount: '1500000', token: TOKEN, secretA1: '0x61' },
      terms: { values: {} },
    }),
    CancelLoan: () => ({
      ...loan,
      kind: 'CancelLoan',
      args: { amount: '1500000', token: TOKEN, secretB1: '0x62' },
      terms: { values: {} },
    }),
  }
  return amounts[tx.kind]()
}

export function header({ number, hash: blockHash, parentHash, timeS }: BlockHeader): BlockHeader {
  return { number, hash: blockHash, parentHash, timeS }
}

function ref({ number, hash: blockHash }: BlockHeader): BlockRef {
  return { number, hash: blockHash }
}
