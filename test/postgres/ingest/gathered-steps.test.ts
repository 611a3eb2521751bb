import fc from 'fast-check'
import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { raiseWriterEpoch } from '../../../indexer/event-log/chain-position.ts'
import { getEntriesBetween } from '../../../indexer/event-log/read-log.ts'
import { ingestStep, replaceEvents } from '../../../indexer/ingest/ingest-step.ts'
import { LogChunks, type ChunkSizes } from '../../../indexer/ingest/log-chunks.ts'
import { GatheredSteps, project } from '../../../indexer/ingest/project.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { NEXT_SCHEMA } from '../../../indexer/projections/projection.ts'
import { createNextSchema, dropOldSchema, switchSchemas } from '../../../indexer/projections/schemas.store.ts'
import { stepsOf } from '../../../indexer/projections/segments.evolve.ts'
import type { Db } from '../../../shared/db/connect.ts'
import type { EvmLoanEvent } from '../../../shared/events/chain-event.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM } from '../../helpers/ingest-ledger.ts'
import { RandomChain } from '../../helpers/random-chain.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

const NO_LIMIT = Number.MAX_SAFE_INTEGER

function sizesOf(gathered: number, whole: number): ChunkSizes {
  return {
    gathered: { entries: gathered, bytes: NO_LIMIT },
    whole: { entries: whole, bytes: NO_LIMIT },
  }
}

/** As a replay does it, in chunks of other sizes; how many of them were gathered, and how many read whole. */
async function foldAgain(db: Db, sizes: ChunkSizes): Promise<{ gathered: number; whole: number }> {
  const counts = { gathered: 0, whole: 0 }
  await createNextSchema(db)
  const chunks = new LogChunks(db, 0, false, sizes)
  let after = 0
  for (;;) {
    const { steps, lastPosition } = await chunks.next()
    if (lastPosition === undefined) break
    const folded = after
    await inTransaction(db, (trx) => project(trx, NEXT_SCHEMA, folded, steps))
    if (steps instanceof GatheredSteps) counts.gathered += 1
    else counts.whole += 1
    after = lastPosition
  }
  await inTransaction(db, switchSchemas)
  await dropOldSchema(db)
  return counts
}

void t.test(
  'events that are found later, between others, are the same loans however they are gathered',
  async (t) => {
    const { evm: told } = tellStories(7, 6)
    // A contract may say twice that a loan is made, and on another network the same one.
    const last = told.at(-1)?.blockNumber ?? 0
    const again = told
      .filter(({ kind }) => kind === 'CreateLoanOffer')
      .map((event, index) => ({
        ...event,
        ...{ blockNumber: last + 1, blockHash: '0xagain', logIndex: index, txHash: `0xa9a1${index}` },
      }))
    const evm = [...told, ...again]
    const networks = [EVM, { ...EVM, network: 'evm:31338' }]
    const rounds = 3
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(rounds - 1), { minLength: evm.length, maxLength: evm.length }),
        fc.array(fc.integer({ min: 1, max: evm.length }), { minLength: 1, maxLength: 3 }),
        async (round, entries) => {
          const { db } = await testDatabase(t)
          for (let now = 0; now < rounds; now += 1) {
            const found = evm.filter((_, index) => (round[index] ?? 0) <= now)
            const blocks = { from: 0, to: evm.at(-1)?.blockNumber ?? 0 }
            for (const identity of networks)
              await inTransaction(db, (trx) => replaceEvents(trx, identity, blocks, found, 'reindex'))
            // Each round has a time of its own.
            await sleep(5)
          }
          const digest = await digestReadModel(db)
          for (const one of entries) {
            const { whole } = await foldAgain(db, sizesOf(one, NO_LIMIT))
            t.equal(whole, 0, 'all are gathered')
            t.same(await digestReadModel(db), digest, `in chunks of ${one} entries`)
          }
        },
      ),
      { numRuns: 12 },
    )
  },
)

void t.test('a loan that was written down as ended goes on, or is made again', async (t) => {
  const { evm } = tellStories(31, 150)
  const last = evm.at(-1)?.blockNumber ?? 0
  const ofKind = (kind: EvmLoanEvent['kind'], blocks: number): EvmLoanEvent[] =>
    evm
      .filter((event) => event.kind === kind)
      .map((event, logIndex) => ({
        ...event,
        ...{
          blockNumber: last + blocks,
          blockHash: `0xa9a1${blocks}`,
          logIndex,
          txHash: `0xa9a1${blocks}${logIndex}`,
        },
      }))
  const [again, over] = [ofKind('CreateLoanOffer', 1), ofKind('UnlockCollateral', 2)]
  t.ok(again.length > 40 && over.length > 10, `${again.length} and ${over.length} loans go on`)
  const { db } = await testDatabase(t)
  for (const events of [evm, [...evm, ...again], [...evm, ...again, ...over]])
    await inTransaction(db, (trx) => replaceEvents(trx, EVM, { from: 0, to: last + 2 }, events, 'reindex'))
  const digest = await digestReadModel(db)
  for (const entries of [NO_LIMIT, 100]) {
    const { whole } = await foldAgain(db, sizesOf(entries, NO_LIMIT))
    t.equal(whole, 0, 'all are gathered')
    t.same(await digestReadModel(db), digest, `in chunks of ${entries} entries`)
  }
})

void t.test('a log with reorgs is the same read model, gathered where that can be', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 2 ** 31 }),
      fc.array(fc.constantFrom('grow', 'grow', 'grow', 'reorg'), { minLength: 4, maxLength: 24 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 40 }),
      async (seed, acts, gathered, whole) => {
        const { db } = await testDatabase(t)
        const chain = new RandomChain(seed)
        const identity = { network: 'evm:1', blockchain: 'RANDOM' }
        const epoch = await raiseWriterEpoch(db, identity.network, { startNumber: 0, watched: {} })
        await ingestStep(db, identity, epoch, chain.genesis())
        for (const [index, act] of acts.entries()) {
          const deep = Math.min(1 + (index % 4), chain.blocks.length - 1)
          const step = act === 'grow' || deep < 1 ? chain.grow(3) : chain.reorg(deep, deep + 1)
          await ingestStep(db, identity, epoch, step)
        }
        const digest = await digestReadModel(db)
        await foldAgain(db, sizesOf(gathered, whole))
        t.same(await digestReadModel(db), digest)
      },
    ),
    { numRuns: 15 },
  )
})

/** As the reader has it: no chunk that is read whole is cut within a part. */
const READ_AT_ONCE = 500

void t.test('chunks are the whole log in whole steps, and none but appends are gathered', async (t) => {
  const aStep = fc.tuple(
    fc.integer({ min: 1, max: 300 }),
    fc.constantFrom('append', 'append', 'append', 'retract'),
  )
  type Step = [size: number, last: string]
  const appends = Array.from({ length: 5 }, (): Step => [300, 'append'])
  // Other steps come again and again, with more than a chunk between them.
  const mixed: Step[] = [
    [10, 'retract'],
    ...appends,
    [10, 'retract'],
    ...appends,
    [10, 'retract'],
    ...appends,
  ]
  let [gatheredAgain, wholeAgain] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      fc.array(aStep, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 600 }),
      fc.integer({ min: 1, max: 600 }),
      async (steps, gathered, whole) => {
        const { db } = await testDatabase(t)
        // Of each step the last entry is what it is.
        await appendOps(
          db,
          steps.map(([size, last]) => [...Array.from({ length: size - 1 }, () => 'append'), last]),
        )
        const log = stepsOf((await getEntriesBetween(db, 0, NO_LIMIT)).map(({ entry }) => entry))
        const ends = new Set(log.map((step) => step.at(-1)?.position))
        const chunks = new LogChunks(db, 0, false, sizesOf(gathered, whole))
        const seen: boolean[] = []
        let after = 0
        for (;;) {
          const { steps: read, lastPosition } = await chunks.next()
          if (lastPosition === undefined) break
          const from = after
          const own = log.flat().filter(({ position }) => position > from && position <= lastPosition)
          if (own.length === 0) throw new Error(`nothing between ${after} and ${lastPosition}`)
          if (!ends.has(lastPosition)) throw new Error(`a step is cut at ${lastPosition}`)
          const isGathered = read instanceof GatheredSteps
          if (isGathered && own.some(({ op }) => op !== 'append'))
            throw new Error('what is no append was gathered')
          if (!isGathered) t.same(read, own)
          if (isGathered && seen.includes(false)) gatheredAgain += 1
          if (!isGathered && seen.lastIndexOf(true) > seen.indexOf(false) && seen.includes(false))
            wholeAgain += 1
          seen.push(isGathered)
          after = lastPosition
        }
        t.equal(after, log.flat().length)
      },
    ),
    { numRuns: 25, examples: [[mixed, 300, 100]] },
  )
  t.ok(gatheredAgain > 0, `${gatheredAgain} were gathered behind others that were not`)
  t.ok(wholeAgain > 0, `${wholeAgain} were read whole behind those`)
})

void t.test(
  'a log with many other steps is not read twice, and one with few is gathered but for these',
  async (t) => {
    const steps = 10_000
    const parts = (2 * steps) / READ_AT_ONCE
    const many = await readCounted(
      t,
      Array.from({ length: steps }, () => ['append', 'retract']),
    )
    t.equal(many.gathered, 0)
    // For each chunk a look at the head and its parts, and what is read in vain at a handful of attempts.
    t.ok(many.asked < 4 * many.whole, `${many.asked} questions for ${many.whole} chunks`)
    const few = await readCounted(
      t,
      Array.from({ length: steps }, (_, index) => ['append', index % 1_250 === 7 ? 'retract' : 'append']),
    )
    t.ok(few.whole <= 2 * 8, `${few.whole} chunks were read whole`)
    t.ok(few.asked < 2.5 * parts, `${few.asked} questions for ${parts} parts`)
    t.ok(few.gathered > parts / 4, `${few.gathered} chunks were gathered`)
  },
)

void t.test('of a long step that turns out to be another nothing can be folded in', (t) => {
  const entryAt = (position: number, step: number, op: LogEntry['op']): LogEntry =>
    ({ position, step, op, network: 'evm:1', subject: null, event: { kind: 'Payback' } }) as LogEntry
  for (const [length, areWhole] of [
    [400, true],
    [800, false],
  ] as const) {
    const steps = new GatheredSteps()
    t.ok(steps.take(entryAt(1, 1, 'append')))
    for (let index = 0; index < length; index += 1) t.ok(steps.take(entryAt(2 + index, 2, 'append')))
    t.notOk(steps.take(entryAt(2 + length, 2, 'retract')))
    t.equal(steps.lastPosition, 1)
    t.equal(steps.areWhole, areWhole)
    if (areWhole) t.equal(steps.toSegments().length, 1)
    else t.throws(() => steps.toSegments(), /in part/)
  }
  t.end()
})

void t.test('a chunk that could not be read is read at the next call', async (t) => {
  const { db } = await testDatabase(t)
  await appendOps(
    db,
    Array.from({ length: 700 }, () => ['append', 'append']),
  )
  const become = (body: string): Promise<unknown> =>
    inTransaction(db, async (trx) => {
      await sql`alter table ledger.event_log disable trigger user`.execute(trx)
      await sql`update ledger.event_log set body = ${body}::json where position = 900`.execute(trx)
      await sql`alter table ledger.event_log enable trigger user`.execute(trx)
    })
  const chunks = new LogChunks(db, 0, false, sizesOf(NO_LIMIT, NO_LIMIT))
  const taking = Object.getOwnPropertyDescriptor(GatheredSteps.prototype, 'take')
    ?.value as GatheredSteps['take']
  await become('null')
  await t.rejects(chunks.next(), /^log entry 900/)
  await become('{"kind":"Payback"}')
  // Told of each entry that it takes, and takes it.
  const took = t.capture(GatheredSteps.prototype, 'take', function (this: GatheredSteps, entry: LogEntry) {
    return taking.call(this, entry)
  })
  const { lastPosition } = await chunks.next()
  t.equal(lastPosition, 1_400)
  t.same(
    took().map(({ args: [entry] }) => entry.position),
    Array.from({ length: 1_400 }, (_, index) => index + 1),
  )
})

/** What it takes to read a log of such steps. */
async function readCounted(
  t: Test,
  steps: string[][],
): Promise<{ gathered: number; whole: number; asked: number }> {
  const { db } = await testDatabase(t)
  await appendOps(db, steps)
  const counts = { gathered: 0, whole: 0, asked: 0 }
  const counting = db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) => {
      counts.asked += 1
      return Promise.resolve(result)
    },
  })
  // More is gathered than waits for the end of a step.
  const chunks = new LogChunks(counting, 0, false, sizesOf(2 * READ_AT_ONCE, READ_AT_ONCE))
  for (;;) {
    const { steps: read, lastPosition } = await chunks.next()
    if (lastPosition === undefined) return counts
    if (read instanceof GatheredSteps) counts.gathered += 1
    else counts.whole += 1
  }
}

/** Appends steps of entries with these operations, and nothing of any loan. */
async function appendOps(db: Db, steps: readonly string[][]): Promise<void> {
  const ops = steps.flat()
  let entries = 0
  const firsts = steps.flatMap((step) => {
    const first = entries + 1
    entries += step.length
    return step.map(() => first)
  })
  await inTransaction(db, async (trx) => {
    await sql`update ledger.log_head set last_position = ${entries}`.execute(trx)
    await sql`
      insert into ledger.event_log (position, step, network, blockchain, op, natural_key, revision, kind, block_number,
        block_hash, log_index, body, recorded_at, origin)
      select n, first, 'evm:1', 'X', op, 'key ' || n, 1, 'Payback', n, '0x', 0,
        case op when 'append' then '{"kind":"Payback"}'::json end, now(), case op when 'append' then null else n end
      from unnest(${ops}::text[], ${firsts}::bigint[]) with ordinality as each_entry(op, first, n)`.execute(
      trx,
    )
  })
}
