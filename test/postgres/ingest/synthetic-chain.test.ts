import t, { type Test } from 'tap'
import type { Parties } from '../../../bench/synthetic-evm/parties.ts'
import { compareWithTruth, makeReorgTruth, makeTruth } from '../../../bench/synthetic-evm/truth.ts'
import { BLOCKCHAIN } from '../../../bench/synthetic-evm/expected-loans.ts'
import {
  serveSyntheticChain,
  type NodeSpec,
  type ServedChain,
} from '../../../bench/synthetic-evm/serve-chain.ts'
import { CHAIN_ID } from '../../../bench/synthetic-evm/synthetic-chain.ts'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import type { ChainStep } from '../../../shared/events/chain-step.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { testDatabase } from '../../helpers/database.ts'

const SHAPE = { events: 1_200, blocks: 150, strangerLogs: 2 }
const SEED = 5

interface Followed {
  db: Db
  node: ServedChain
  steps: AsyncGenerator<ChainStep>
  /** Throws unless it is written at once. */
  write: (step: ChainStep) => Promise<void>
}

/** A node with such a chain, its source's steps and an empty database that they are written to. */
async function follow(t: Test, spec: NodeSpec, { contracts }: Parties): Promise<Followed> {
  const { db } = await testDatabase(t)
  const node = await serveSyntheticChain(spec)
  const source = createEvmSource({
    ...{ blockchain: BLOCKCHAIN, networkId: String(CHAIN_ID), rpcUrls: [node.url], wsUrl: node.wsUrl },
    ...{ confirmations: 0, maxBlockRange: 2000, pollIntervalMs: 10_000 },
    erc20Loans: { address: contracts.erc20Loans, startBlock: 1, idPrefix: null },
    erc20CollateralLock: { address: contracts.erc20CollateralLock, startBlock: 1, idPrefix: null },
  })
  const stop = new AbortController()
  t.teardown(async () => {
    stop.abort()
    await source.close()
    node.close()
  })
  const identity = { network: source.network, blockchain: BLOCKCHAIN }
  const epoch = await raiseEpoch(db, source.network, 'writer', {
    startNumber: source.startBlock,
    watched: {},
  })
  const write = async (step: ChainStep): Promise<void> => {
    t.equal(await ingestStep(db, identity, epoch, step), 'applied')
  }
  const resume = { position: null, headers: [], finalized: null }
  return { db, node, write, steps: followChain(source, resume, { signal: stop.signal }) }
}

void t.test('the chain of the benchmark, read and written, is the truth that its seed tells', async (t) => {
  const truth = makeTruth(SHAPE, SEED)
  const { db, steps, write } = await follow(t, { shape: SHAPE, seed: SEED }, truth.chain.parties)
  const checks = new Set<string>()
  const events: ChainEvent[] = []
  for await (const step of steps) {
    await write(step)
    if (step.type === 'finalized') break
    events.push(...step.events)
    for (const { check } of step.evidence) checks.add(check)
  }
  t.equal(truth.events.length, SHAPE.events)
  t.strictSame(events, truth.events, 'every event with all its terms')
  t.ok(checks.has('receipts'), 'the newest blocks were proven by their receipts')
  // Which it is depends on how long this machine takes for a header.
  const isTold = (check: string): boolean => ['receipts', 'bloom', 'one'].includes(check)
  t.ok([...checks].every(isTold), 'or say that they were not')
  await compareWithTruth(db, truth)
  const kinds = new Set(truth.events.map(({ kind }) => kind))
  t.equal(kinds.size, 13, 'all events of both contracts')
})

void t.test(
  'the other branch of the chain is followed in one step, and written as its truth tells',
  async (t) => {
    const [head, forkAfter] = [SHAPE.blocks - 1, SHAPE.blocks - 41]
    const truth = makeReorgTruth(SHAPE, { forkAfter, head }, SEED)
    const spec: NodeSpec = { shape: SHAPE, seed: SEED, forkAfter, head, finality: 'epochs' }
    const { db, node, steps, write } = await follow(t, spec, truth.chain.parties)
    const types = new Set<string>()
    for await (const step of steps) {
      await write(step)
      types.add(step.type)
      if (step.type === 'blocks' && step.to.number === head)
        node.show({ branch: 'other', head: SHAPE.blocks })
      if (step.type === 'reorg') break
    }
    t.ok(types.has('reorg'))
    await compareWithTruth(db, truth)
    const ops = new Set(truth.log.slice(truth.before.length).map(({ op }) => op))
    t.strictSame(ops, new Set(['retract', 'append', 'replace']), 'some are gone, some new and some the same')
  },
)

void t.test('an index that says otherwise is no truth', async (t) => {
  const { db } = await testDatabase(t)
  await t.rejects(compareWithTruth(db, makeTruth(SHAPE, SEED)), /entries of the log is not the truth/)
})
