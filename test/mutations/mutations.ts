/** The service's promises. The fifth, constant cost, concerns figures and not truth: `npm run bench -- api`. */
export const PROMISES = {
  1: 'the log is the truth, and the read model follows from it alone',
  2: 'every event is written exactly once',
  3: 'log, read model and position move together',
  4: 'records become visible in the order of their ids and times',
  6: 'memory and queues do not grow with the chain',
  7: 'no node is trusted',
  8: 'chain data are hostile, and the indexer goes on',
  9: 'reads survive writers, queues and chains that are down',
} as const

/** A deliberate break of one promise, and the checks that must detect it. */
export interface Mutation {
  /** The promise, by its key in `PROMISES`. */
  promise: keyof typeof PROMISES
  /** The service's behaviour after the break. */
  what: string
  /** The file, and the text in it (exactly once) that is replaced. */
  file: string
  from: string
  to: string
  /** Each of these must detect it alone. */
  noticedBy: Check[]
}

/** A file of tests, or a simulation with this seed. */
export type Check = { test: string } | { seed: string; minutes: number } | { soakMinutes: number }

const INGEST = 'test/postgres/ingest/ingest-step.test.ts'
const QUEUE = 'test/queue/backend.test.ts'
const BUFFER = 'test/unit/indexer/queue/step-buffer.test.ts'
const TWO_READERS = 'test/postgres/ingest/two-readers.test.ts'
const SIMULATION: Check = { seed: 'mutation', minutes: 0.5 }

export const MUTATIONS: readonly Mutation[] = [
  {
    promise: 1,
    what: 'the read model takes the time of its own folding',
    file: 'indexer/projections/activity/activity.store.ts',
    from: 'at: entry.recordedAt',
    to: 'at: new Date()',
    noticedBy: [{ test: 'test/postgres/ingest/two-chains.test.ts' }, SIMULATION],
  },
  {
    promise: 1,
    what: 'a loan whose event was retracted keeps what it said',
    file: 'shared/loans/loan-steps.evolve.ts',
    from: 'become(foldAnew(held, step), firstOf(step).recordedAt)',
    to: 'become(loan ?? foldAnew(held, step), firstOf(step).recordedAt)',
    noticedBy: [{ test: 'test/postgres/ingest/synthetic-chain.test.ts' }],
  },
  {
    promise: 2,
    what: 'a step is applied on another branch than the one that it continues',
    file: 'indexer/ingest/continuity.evolve.ts',
    from: "return step.after.hash === position.hash ? 'apply' : 'broken'",
    to: "return 'apply'",
    noticedBy: [{ test: INGEST }],
  },
  {
    promise: 2,
    what: 'a writer that was replaced goes on writing',
    file: 'indexer/ingest/ingest-step.ts',
    from: 'if (position === undefined || position.writerEpoch !== writerEpoch)',
    to: 'if (position === undefined)',
    noticedBy: [{ test: INGEST }],
  },
  {
    promise: 2,
    what: 'a step that comes twice is written twice',
    file: 'indexer/ingest/continuity.evolve.ts',
    from: "endHash === undefined || endHash === step.to.hash ? 'seen' : 'broken'",
    to: "endHash === undefined || endHash === step.to.hash ? 'apply' : 'broken'",
    noticedBy: [{ test: INGEST }],
  },
  {
    promise: 2,
    what: 'a step of another branch that ends below the position counts as written',
    file: 'indexer/ingest/continuity.evolve.ts',
    from: 'endHash === step.to.hash',
    to: 'endHash.length > 0',
    noticedBy: [{ test: TWO_READERS }],
  },
  {
    promise: 2,
    what: 'steps before one that was written count as written',
    file: 'indexer/ingest/ingest-step.ts',
    from: 'return place.sequence === last.sequence + 1',
    to: 'return place.sequence > last.sequence',
    noticedBy: [{ test: TWO_READERS }],
  },
  {
    promise: 3,
    what: 'log, read model and position are written without a transaction',
    file: 'shared/db/transaction.ts',
    from: 'await client.query(begin)',
    to: 'void begin',
    noticedBy: [SIMULATION],
  },
  {
    promise: 3,
    what: 'what moved to another branch is looked for under the entry that moved it',
    file: 'indexer/projections/activity/activity.store.ts',
    from: 'return (origin ?? position) * IDS_PER_ENTRY',
    to: 'return (origin === 0 ? 0 : position) * IDS_PER_ENTRY',
    noticedBy: [{ test: INGEST }],
  },
  {
    promise: 4,
    what: 'the time of a record is what the clock says, also when it steps back',
    file: 'indexer/event-log/append.ts',
    from: "greatest(last_recorded_at, date_trunc('milliseconds', clock_timestamp()))",
    to: "date_trunc('milliseconds', clock_timestamp())",
    noticedBy: [{ test: INGEST }],
  },
  {
    promise: 6,
    what: 'the source does not wait for the writer',
    file: 'indexer/queue/step-buffer.ts',
    from: 'this.#changes.until(() => !this.isFull, signal)',
    to: 'this.#changes.until(() => true, signal)',
    noticedBy: [{ test: BUFFER }],
  },
  {
    promise: 6,
    what: 'a reader puts all its steps into the queue at once',
    file: 'indexer/queue/unwritten-steps.ts',
    from: 'this.size < MOST_STEPS && !this.#budget.isFull',
    to: 'this.size < MOST_STEPS * 1_000_000',
    noticedBy: [{ test: BUFFER }],
  },
  {
    promise: 6,
    what: 'an undecodable log keeps all of its data in memory',
    file: 'indexer/sources/evm/decode-log.ts',
    from: "return Buffer.from(hex, 'latin1').toString('latin1')",
    to: 'return hex',
    noticedBy: [{ test: 'test/unit/sources/evm/decode-log.test.ts' }],
  },
  {
    promise: 2,
    what: 'a block is final though our branch has another at its height',
    file: 'indexer/ingest/continuity.evolve.ts',
    from: "return hash === undefined || hash === block.hash ? 'apply' : 'broken'",
    to: "return hash === '' ? 'broken' : 'apply'",
    noticedBy: [{ test: INGEST }],
  },
  {
    promise: 6,
    what: 'finished jobs stay',
    file: 'indexer/queue/step-queue.ts',
    from: 'removeOnComplete: true',
    to: 'removeOnComplete: false',
    noticedBy: [{ test: QUEUE }, { soakMinutes: 2 }],
  },
  {
    promise: 2,
    what: 'lost connections of the queue end the process',
    file: 'indexer/open-queue-backend.ts',
    from: 'Client: QueueClient',
    to: 'Client: Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf(QueueClient))) as never',
    noticedBy: [{ test: QUEUE }],
  },
  {
    promise: 7,
    what: 'a loan is believed to be as a node showed it once, whatever its block says',
    file: 'indexer/sources/evm/loan-reader.ts',
    from: "return typeof loan === 'object' ? loan.state !== stateAfter : loan === NO_SUCH_LOAN || loan === NOTHING",
    to: 'return false',
    noticedBy: [{ test: 'test/chain/sources/evm-source.test.ts' }],
  },
  {
    promise: 7,
    what: 'logs that do not make their block’s bloom are believed',
    file: 'indexer/sources/evm/block-reader.ts',
    from: 'if (bloomOf(logs) !== header.logsBloom)',
    to: 'if (bloomOf(logs) === undefined)',
    noticedBy: [{ test: 'test/chain/sources/log-quirks.test.ts' }],
  },
  {
    promise: 7,
    what: 'headers are believed whatever they hash to',
    file: 'indexer/sources/evm/proof/chain-rules.ts',
    from: 'if (known === true || (known',
    to: 'if (holds && (known',
    noticedBy: [{ test: 'test/chain/sources/proofs.test.ts' }],
  },
  {
    promise: 7,
    what: 'logs are believed that no receipt under the root has',
    file: 'indexer/sources/evm/proof/proven-blocks.ts',
    from: 'receiptsRoot(part) === header.roots?.receipts',
    to: "receiptsRoot(part) !== ''",
    noticedBy: [{ test: 'test/chain/sources/proofs.test.ts' }],
  },
  {
    promise: 7,
    what: 'a transaction’s hash is believed that its block does not have',
    file: 'indexer/sources/evm/proof/proven-blocks.ts',
    from: 'return found?.root === header.roots?.transactions',
    to: 'return found !== null',
    noticedBy: [{ test: 'test/chain/sources/proofs.test.ts' }],
  },
  {
    promise: 7,
    what: 'another chain is taken for the configured one',
    file: 'indexer/sources/evm/evm-client.ts',
    from: 'if (found !== expected)',
    to: 'if (found === undefined)',
    noticedBy: [{ test: 'test/chain/sources/faulty-endpoints.test.ts' }],
  },
  {
    promise: 7,
    what: 'a second endpoint is taken to say what the first said',
    file: 'indexer/sources/evm/range-reader.ts',
    from: 'return isSameList(left.logs, right.logs)',
    to: 'return left.from === right.from',
    noticedBy: [{ test: 'test/chain/sources/faulty-endpoints.test.ts' }],
  },
  {
    promise: 7,
    what: 'a second endpoint that is away for a moment is done without',
    file: 'indexer/sources/rpc/second-opinion.ts',
    from: 'const isOver = performance.now() >= untilMs',
    to: 'const isOver = performance.now() >= 0',
    noticedBy: [{ test: 'test/chain/sources/faulty-endpoints.test.ts' }],
  },
  {
    promise: 7,
    what: 'what one endpoint no longer has is unknown while the one that has it is away for a moment',
    file: 'indexer/sources/rpc/ask-everyone.ts',
    from: 'if (performance.now() < untilMs)',
    to: 'if (performance.now() < 0)',
    noticedBy: [
      { test: 'test/chain/sources/evm-source.test.ts' },
      { test: 'test/chain/filecoin/identities.test.ts' },
    ],
  },
  {
    promise: 8,
    what: 'data that do not decode are an error',
    file: 'indexer/sources/evm/decode-log.ts',
    from: 'return undecodable(`${layout.kind}: data does not decode (${shortReason(error)})`)',
    to: 'throw error',
    noticedBy: [{ test: 'test/unit/sources/evm/decode-log.test.ts' }],
  },
  {
    promise: 8,
    what: 'text goes to the database as it came',
    file: 'indexer/sources/rpc/foreign-text.ts',
    from: "    .replaceAll(/[\\p{Cc}\\s]+/gu, ' ')\n",
    to: '',
    noticedBy: [{ test: 'test/unit/sources/rpc/foreign-text.test.ts' }],
  },
  {
    promise: 9,
    what: 'an API that was frozen takes the database for away',
    file: 'api/queries/read-database.ts',
    from: 'if (!isLostSoon && stalls.lastEndedMs < askedMs) throw error',
    to: 'if (!isLostSoon && stalls.lastEndedMs < Infinity) throw error',
    noticedBy: [{ test: 'test/postgres/api/database-away.test.ts' }],
  },
  {
    promise: 9,
    what: 'a database that is away is an error of the API',
    file: 'api/queries/read-database.ts',
    from: 'if (isAway(error)) throw',
    to: 'if (error === undefined) throw',
    noticedBy: [{ test: 'test/postgres/api/database-away.test.ts' }],
  },
  {
    promise: 9,
    what: 'a reader or a writer that fell silent counts as there',
    file: 'shared/indexing-health.ts',
    from: 'report !== null && report.observedAgoS <= patienceS(report)',
    to: 'report !== null',
    noticedBy: [{ test: 'test/unit/shared/indexing-health.test.ts' }],
  },
]
