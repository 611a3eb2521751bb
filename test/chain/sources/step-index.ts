import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import { isEvmLoanEvent, type ChainEvent } from '../../../shared/events/chain-event.ts'
import type { BlockHeader, BlockRef, ChainStep, RangeEvidence } from '../../../shared/events/chain-step.ts'
import type { ResumePoint } from '../../../indexer/sources/chain-source.ts'
import { ABI, rpc, type LittleChain } from './little-chain.ts'

/** Applies steps as the writer does, as strictly: what is left is what the steps say the chain is. */
export class StepIndex {
  position: BlockRef | null = null
  finalized: BlockRef | null = null
  headers: BlockHeader[] = []
  events: ChainEvent[] = []
  evidence: RangeEvidence[] = []
  reorgs = 0
  /** Whether a block may be read again with the one after it, which shows that its results were others. */
  mayReadAgain = false
  largest = 0
  readonly #startBlock: number

  constructor(startBlock = 0) {
    this.#startBlock = startBlock
  }

  apply(step: ChainStep): void {
    // The writer takes it as it is where it can, and as a job carries it where it cannot: both must be the same.
    if (!isDeepStrictEqual(JSON.parse(JSON.stringify(step)), step))
      throw new Error('a step that is not what its JSON says')
    if (step.type === 'finalized') {
      const { block } = step
      if (this.position === null || block.number > this.position.number)
        throw new Error('final beyond the position')
      if (this.finalized !== null && block.number <= this.finalized.number)
        throw new Error('finality went back')
      const ours = this.headers.find(({ number }) => number === block.number)
      if (ours !== undefined && ours.hash !== block.hash) throw new Error('another block is final')
      this.finalized = block
      this.headers = this.headers.filter(({ number }) => number > block.number)
      return
    }
    const before = step.type === 'blocks' ? step.after : step.ancestor
    const from = before === null ? 0 : before.number + 1
    if (step.type === 'blocks') {
      if (step.from !== from) throw new Error(`from ${step.from} after ${from - 1}`)
      const expected = this.position
      if (expected === null ? step.from !== this.#startBlock : expected.hash !== before?.hash)
        throw new Error(`step from ${step.from} does not continue ${expected?.number ?? 'nothing'}`)
      if (step.events.length > 250 && new Set(step.events.map((event) => event.blockNumber)).size > 1)
        throw new Error(`a step of ${step.events.length} events`)
    } else {
      this.reorgs += 1
      if (this.position?.hash !== step.replaces.hash) throw new Error('a reorg of another position')
      if (this.finalized !== null && step.ancestor.number < this.finalized.number)
        throw new Error('reorg below final')
      const ours = [...this.headers, ...(this.finalized === null ? [] : [this.finalized])]
      if (!ours.some(({ hash }) => hash === step.ancestor.hash)) throw new Error('the ancestor is not ours')
      const replaced = this.headers.find(({ number }) => number === from)
      if (replaced !== undefined && replaced.hash === step.headers[0]?.hash && !this.mayReadAgain)
        throw new Error('a later block is shared')
      this.events = this.events.filter((event) => event.blockNumber <= step.ancestor.number)
      this.headers = this.headers.filter(({ number }) => number <= step.ancestor.number)
    }
    this.#checkHeaders(before, step.headers, step.to)
    this.#checkEvents(from, step.to.number, step.events)
    this.largest = Math.max(this.largest, step.events.length)
    this.headers = step.headers.length === 0 ? [] : [...this.headers, ...step.headers]
    this.events.push(...step.events)
    this.evidence.push(...step.evidence)
    this.position = { number: step.to.number, hash: step.to.hash }
  }

  /** The last word on how a block was checked. */
  kindAt(number: number): RangeEvidence['check'] | undefined {
    return this.evidence.findLast(({ from, to }) => from <= number && number <= to)?.check
  }

  /** The kinds of the blocks below the position, without its own. */
  kindsBelow(): string[] {
    const last = this.position?.number ?? 0
    const numbers = Array.from({ length: last - this.#startBlock }, (_, index) => this.#startBlock + index)
    return [...new Set(numbers.map((number) => String(this.kindAt(number))))].sort()
  }

  resumePoint(): ResumePoint {
    return { position: this.position, headers: [...this.headers], finalized: this.finalized }
  }

  #checkHeaders(before: BlockRef | null, headers: BlockHeader[], to: BlockRef): void {
    let last = before
    for (const header of headers) {
      if (last !== null && (header.parentHash !== last.hash || header.number !== last.number + 1))
        throw new Error(`header ${header.number} is not linked`)
      if (Object.keys(header).sort().join() !== 'hash,number,parentHash,timeS')
        throw new Error('a header with extras')
      last = header
    }
    if (headers.length > 0 && last?.hash !== to.hash)
      throw new Error('the headers do not end at the step’s end')
  }

  #checkEvents(from: number, to: number, events: ChainEvent[]): void {
    for (const [index, event] of events.entries()) {
      const previous = events[index - 1]
      if (event.blockNumber < from || event.blockNumber > to) throw new Error('an event out of its step')
      if (previous === undefined) continue
      const later =
        event.blockNumber > previous.blockNumber ||
        (event.blockNumber === previous.blockNumber && event.logIndex > previous.logIndex)
      if (!later) throw new Error('events out of order')
    }
  }
}

interface NodeLog {
  address: string
  topics: string[]
  data: string
  blockHash: string
  transactionHash: string
  logIndex: string
}

/** Every log of both contracts as the node itself tells it, decoded with the compiled contracts' own ABI. */
export async function nodeEvents(chain: LittleChain, upTo: number): Promise<string[]> {
  const logs = (await rpc(chain.url, 'eth_getLogs', [
    { fromBlock: '0x0', toBlock: `0x${upTo.toString(16)}`, address: [chain.loans, chain.lock] },
  ])) as NodeLog[]
  const ordinals = new Map<string, number>()
  return logs.map((log) => {
    const parsed = (log.address === chain.loans ? ABI.loans : ABI.lock).parseLog(log)
    const values = (parsed?.args.toArray() ?? []).map((value: unknown) => String(value))
    const key = log.transactionHash + log.address
    const ordinal = ordinals.get(key) ?? 0
    ordinals.set(key, ordinal + 1)
    return [log.blockHash, log.transactionHash, Number(log.logIndex), ordinal, parsed?.name, ...values].join(
      ' ',
    )
  })
}

export function indexedEvents(events: readonly ChainEvent[]): string[] {
  return events.map((event) => {
    if (event.kind === 'Undecodable') return `Undecodable ${event.reason}`
    if (!isEvmLoanEvent(event)) return `not of this chain: ${event.kind}`
    const place = [event.blockHash, event.txHash, event.logIndex, event.txLogIndex, event.kind]
    return [...place, event.contractLoanId, ...Object.values<string>(event.args)].join(' ')
  })
}

/** The steps' chain is the node's chain up to the index's position, event by event. */
export async function sameAsNode(t: Test, index: StepIndex, chain: LittleChain, what: string): Promise<void> {
  const number = index.position?.number ?? 0
  const block = (await chain.rpc('eth_getBlockByNumber', `0x${number.toString(16)}`, false)) as {
    hash: string
  }
  t.equal(index.position?.hash, block.hash, `${what}: block ${number} is the node's`)
  t.same(
    indexedEvents(index.events),
    await nodeEvents(chain, number),
    `${what}: ${index.events.length} events`,
  )
}
