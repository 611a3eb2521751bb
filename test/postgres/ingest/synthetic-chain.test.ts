import t from 'tap'
import { compareWithTruth, makeTruth } from '../../../bench/synthetic-evm/truth.ts'
import { BLOCKCHAIN } from '../../../bench/synthetic-evm/expected-loans.ts'
import { serveSyntheticChain } from '../../../bench/synthetic-evm/serve-chain.ts'
import { CHAIN_ID } from '../../../bench/synthetic-evm/synthetic-chain.ts'
import { raiseWriterEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import { testDatabase } from '../../helpers/database.ts'

const SHAPE = { events: 1_200, blocks: 150, strangerLogs: 2 }
const SEED = 5

void t.test('the chain of the benchmark, read and written, is the truth that its seed tells', async (t) => {
  const { db } = await testDatabase(t)
  const truth = makeTruth(SHAPE, SEED)
  const { url, server } = await serveSyntheticChain(SHAPE, SEED)
  const { erc20Loans, erc20CollateralLock } = truth.chain.parties.contracts
  const source = createEvmSource({
    ...{ blockchain: BLOCKCHAIN, networkId: String(CHAIN_ID), rpcUrls: [url], wsUrl: null },
    ...{ confirmations: 0, maxBlockRange: 2000, pollIntervalMs: 1000 },
    erc20Loans: { address: erc20Loans, startBlock: 1, idPrefix: null },
    erc20CollateralLock: { address: erc20CollateralLock, startBlock: 1, idPrefix: null },
  })
  t.teardown(async () => {
    await source.close()
    server.closeAllConnections()
    server.close()
  })
  const identity = { network: source.network, blockchain: BLOCKCHAIN }
  const epoch = await raiseWriterEpoch(db, source.network, { startNumber: source.startBlock, watched: {} })
  const stop = new AbortController()
  const checks = new Set<string>()
  const events: ChainEvent[] = []
  const resume = { position: null, headers: [], finalized: null }
  for await (const step of followChain(source, resume, { signal: stop.signal })) {
    t.equal(await ingestStep(db, identity, epoch, step), 'applied')
    if (step.type === 'finalized') break
    events.push(...step.events)
    for (const { check } of step.evidence) checks.add(check)
  }
  t.equal(truth.events.length, SHAPE.events)
  t.strictSame(events, truth.events, 'every event with all its terms')
  t.strictSame([...checks], ['bloom'], 'every range was checked against its blooms')
  await compareWithTruth(db, truth)
  const kinds = new Set(truth.events.map(({ kind }) => kind))
  t.equal(kinds.size, 13, 'all events of both contracts')
})

void t.test('an index that says otherwise is no truth', async (t) => {
  const { db } = await testDatabase(t)
  await t.rejects(compareWithTruth(db, makeTruth(SHAPE, SEED)), /entries of the log is not the truth/)
})
