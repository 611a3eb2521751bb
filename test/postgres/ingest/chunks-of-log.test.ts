import fc from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { StepReader } from '../../../indexer/event-log/step-reader.ts'
import { ingestStep, replaceEvents } from '../../../indexer/ingest/ingest-step.ts'
import { project } from '../../../indexer/ingest/project.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { NEXT_SCHEMA } from '../../../indexer/projections/projection.ts'
import { createNextSchema, dropOldSchema, switchSchemas } from '../../../indexer/projections/schemas.store.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import type { EvmLoanEvent } from '../../../shared/events/chain-event.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM } from '../../helpers/ingest-ledger.ts'
import { RandomChain } from '../../helpers/random-chain.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'
import { cases } from '../../helpers/cases.ts'

const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Builds the read model again as a replay does, in chunks of at least so many entries. */
async function foldAgain(db: Db, entries: number): Promise<void> {
  await createNextSchema(db)
  const reader = new StepReader(db, 0)
  let after = 0
  for (;;) {
    const chunk = await reader.next({ entries, bytes: NO_LIMIT })
    const last = chunk.at(-1)?.position
    if (last === undefined) break
    const folded = after
    await inTransaction(db, (trx) => project(trx, NEXT_SCHEMA, folded, chunk))
    after = last
  }
  await inTransaction(db, switchSchemas)
  await dropOldSchema(db)
}

void t.test(
  'events that are found later, between others, are the same loans however the log is cut',
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
            await foldAgain(db, one)
            t.same(await digestReadModel(db), digest, `in chunks of ${one} entries`)
          }
        },
      ),
      { numRuns: cases(12) },
    )
  },
)

void t.test('a loan that ended goes on, or is made again', async (t) => {
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
    await foldAgain(db, entries)
    t.same(await digestReadModel(db), digest, `in chunks of ${entries} entries`)
  }
})

void t.test('a log with reorgs is the same read model however it is cut', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 2 ** 31 }),
      fc.array(fc.constantFrom('grow', 'grow', 'grow', 'reorg'), { minLength: 4, maxLength: 24 }),
      fc.integer({ min: 1, max: 40 }),
      async (seed, acts, entries) => {
        const { db } = await testDatabase(t)
        const chain = new RandomChain(seed)
        const identity = { network: 'evm:1', blockchain: 'RANDOM' }
        const epoch = await raiseEpoch(db, identity.network, 'writer', { startNumber: 0, watched: {} })
        await ingestStep(db, identity, epoch, chain.genesis())
        for (const [index, act] of acts.entries()) {
          const deep = Math.min(1 + (index % 4), chain.blocks.length - 1)
          const step = act === 'grow' || deep < 1 ? chain.grow(3) : chain.reorg(deep, deep + 1)
          await ingestStep(db, identity, epoch, step)
        }
        const digest = await digestReadModel(db)
        await foldAgain(db, entries)
        t.same(await digestReadModel(db), digest)
      },
    ),
    { numRuns: cases(15) },
  )
})
