import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { lyingAnswers, Refusal, type Fault, type Json } from '../../devnet/faults/fault.ts'
import type { FaultProxy } from '../../devnet/faults/fault-proxy.ts'
import { findPosition, findProvenState, raiseEpoch } from '../../indexer/event-log/chain-position.ts'
import { compareReading, ingestReading, type SecondReading } from '../../indexer/ingest/ingest-reading.ts'
import { ingestStep } from '../../indexer/ingest/ingest-step.ts'
import { newNetworkHealth, type NetworkHealth } from '../../indexer/network-state.ts'
import { followChain } from '../../indexer/sources/follow-chain.ts'
import { createEvmSource, type EvmSource } from '../../indexer/sources/evm/evm-source.ts'
import { StateProver, type StatePace } from '../../indexer/state-proof/state-prover.ts'
import type { Db } from '../../shared/db/connect.ts'
import { createLogger } from '../../shared/log.ts'
import {
  ABI,
  hashOf,
  hex,
  Player,
  startLittleChain,
  type LittleChain,
} from '../chain/sources/little-chain.ts'
import { startProxy } from '../chain/sources/faulty-proxy.ts'
import { testDatabase } from '../helpers/database.ts'
import { testSeed } from '../helpers/test-seed.ts'

/** One endpoint lies in a deep backfill, where nothing but contract storage shows it. */

const seed = testSeed(t)
t.setTimeout(300_000)
const IDENTITY = { network: 'evm:31337', blockchain: 'TEST' }
const PACE = { firstMs: 0, roundMs: 50, chunkMs: 0, stepMs: 0, allMs: 50 }
/** More blocks than those near the newest final one, which are read by their receipts. */
const DEEP = 400

const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
const player = new Player(chain, seed)
for (let block = 0; block < 24; block += 1) {
  await player.play(5)
  await chain.mine()
}
await chain.mine(DEEP)
const ours = [chain.loans, chain.lock].map((address) => address.toLowerCase())
const logs = (await chain.rpc('eth_getLogs', {
  fromBlock: '0x0',
  toBlock: 'latest',
  address: ours,
})) as Json[]

interface Indexed {
  db: Db
  source: EvmSource
  health: NetworkHealth
  proxy: FaultProxy
}

/** Indexes the whole chain from one endpoint, as a reader and a writer do. */
async function indexed(t: Test, fault: Fault, on: LittleChain = chain): Promise<Indexed> {
  const { db } = await testDatabase(t)
  const head = Number(await on.rpc('eth_blockNumber'))
  const proxy = await startProxy(t, on.url, fault)
  // Small batches make headers expensive: blooms of deep blocks are not read.
  const source = createEvmSource(on.network({ rpcUrls: [proxy.url] }), { maxBatch: 10 })
  t.teardown(() => source.close())
  const health = newNetworkHealth({ ...IDENTITY, networkId: '31337' })
  await source.check()
  const epoch = await raiseEpoch(db, IDENTITY.network, 'writer', { startNumber: 0, watched: {} })
  const stop = new AbortController()
  const resume = { position: null, headers: [], finalized: null }
  const onHead = ({ head }: { head: NetworkHealth['head'] }): void => void (health.head = head)
  for await (const step of followChain(source, resume, { signal: stop.signal, onHead })) {
    const outcome = await ingestStep(db, IDENTITY, epoch, step)
    if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
    const position = await findPosition(db, IDENTITY.network)
    if (position?.block?.number === head && position.finalized !== null) stop.abort()
  }
  return { db, source, health, proxy }
}

async function prove(
  { db, source, health }: Indexed,
  isDone: () => Promise<boolean>,
  pace: Partial<StatePace> = PACE,
): Promise<void> {
  const stop = new AbortController()
  const log = createLogger('indexer', 'fatal')
  const prover = new StateProver(
    { ...IDENTITY, watched: {}, db, source, health, log, signal: stop.signal },
    pace,
  )
  const running = prover.run()
  while (!(await isDone())) await delay(20)
  stop.abort()
  await running
}

async function honestReading(t: Test, on: LittleChain): Promise<SecondReading> {
  const honest = createEvmSource(on.network())
  t.teardown(() => honest.close())
  const final = (await honest.finalized()) ?? { number: 0, hash: '' }
  const { events, evidence } = await honest.readRange(0, final.number)
  return { from: 0, last: final, headers: [], events, evidence }
}

/** The corrections that the chain itself demands. */
async function differences(t: Test, db: Db, on: LittleChain = chain): Promise<string[]> {
  const compared = await compareReading(db, IDENTITY, await honestReading(t, on), [])
  return compared.differences.map(({ op, kind, blockNumber }) => `${op} ${kind} in ${blockNumber}`)
}

/** Lies about the logs of wide ranges; the block's receipts are true. */
function inRanges(change: (logs: Json[]) => Json[]): Fault {
  return lyingAnswers(['eth_getLogs'], (result, { params: [filter] }) =>
    'blockHash' in (filter as Json) ? undefined : change(result as Json[]),
  )
}

const isSame = (one: Json, other: Json | undefined): boolean =>
  one['blockHash'] === other?.['blockHash'] && one['logIndex'] === other?.['logIndex']
const first = logs[0]
/** Logs whose lack later ones cannot hide: storage does not show that a loan was paid back before that was accepted. */
const lasting = ['CreateLoanOffer', 'CancelLoan', 'CreateBorrowRequest', 'CancelBorrowRequest'].map(
  (name) => (ABI.loans.getEvent(name) ?? ABI.lock.getEvent(name))?.topicHash,
)
const someLogs = logs.filter((log) => lasting.includes((log['topics'] as string[])[0])).slice(1, 20)

const withOtherData = (log: Json): Json => ({
  ...log,
  data: String(log['data']).replace(/.{6}$/, '123456'),
})

const LIES: Record<string, (logs: Json[]) => Json[]> = {
  'the first loan left out': (told) => told.filter((log) => !isSame(log, first)),
  'logs left out': (told) => told.filter((log) => !someLogs.some((one) => isSame(log, one))),
  'a log with other data': (told) => told.map((log) => (isSame(log, first) ? withOtherData(log) : log)),
  'all logs left out': () => [],
}

void t.test('a lie of one endpoint in a deep backfill is found and corrected', async (t) => {
  for (const [kind, change] of Object.entries(LIES)) {
    await t.test(kind, async (t) => {
      const index = await indexed(t, inRanges(change))
      t.not((await differences(t, index.db)).length, 0, 'the lie was believed')
      await prove(index, async () => (await findProvenState(index.db, IDENTITY.network)) !== null)
      t.same(await differences(t, index.db), [])
      t.match(index.health, { problem: null, stateProof: { differing: 0 } })
      t.ok((index.health.stateProof?.corrected ?? 0) > 0)
    })
  }
})

void t.test('a loan that cannot be corrected is named, until it can', async (t) => {
  const leaveOut = inRanges((told) => told.filter((log) => !isSame(log, first)))
  const index = await indexed(t, leaveOut)
  const refused = new Refusal(-32000, 'receipts are away')
  const methods = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
  index.proxy.fault = lyingAnswers(methods, () => refused)
  const { health } = index
  await prove(index, () => Promise.resolve(health.problem !== null && health.stateProof?.proven !== 0))
  index.proxy.fault = () => null
  await prove(index, async () => (await findProvenState(index.db, IDENTITY.network)) !== null)
  t.same(await differences(t, index.db), [])
})

void t.test('an endpoint without eth_getProof leaves the kind as it was', async (t) => {
  const index = await indexed(t, () => null)
  let asked = 0
  index.proxy.fault = lyingAnswers(['eth_getProof'], () => {
    asked += 1
    return new Refusal(-32601, 'the method does not exist')
  })
  await prove(index, () => Promise.resolve(asked > 6))
  t.equal(await findProvenState(index.db, IDENTITY.network), null)
  t.match(index.health, { problem: null, stateProof: { proven: 0, differing: 0 } })
})

/** A chain with a few loans, whose blocks from the first loan on are deep. */
async function chainWith(t: Test, makeMore: (chain: LittleChain) => Promise<void>): Promise<LittleChain> {
  const made = await startLittleChain(t, { slotsInAnEpoch: 4 })
  await offerLoan(made)
  await made.mine()
  await makeMore(made)
  await made.mine(DEEP)
  return made
}

async function offerLoan({ rpc, accounts, loans, tokens }: LittleChain, filLender = '0x01'): Promise<void> {
  const values = [hashOf(hex('b1')), filLender, 1000n, 10n, tokens[0], 1000n]
  const data = ABI.loans.encodeFunctionData('createLoanOffer', values)
  await rpc('eth_sendTransaction', { from: accounts[0], to: loans, data, gas: '0xe4e1c0' })
}

const isSecondLoan = (log: Json): boolean => BigInt(String(log['data']).slice(0, 66)) === 2n

/** Code that emits 1500 logs of four topics each, which set every bit of the block's bloom. */
const FLOOD = '0x60005b806003018160020182600101836000' + '6000a4600401806117701160025700'

void t.test('a block whose bloom is full is not believed to have none of our logs', async (t) => {
  const full = await chainWith(t, async (full) => {
    await offerLoan(full)
    await full.send(full.accounts[1] ?? '', null, FLOOD)
    await full.mine()
  })
  const isOurs = (log: Json): boolean => log['address'] === full.loans.toLowerCase()
  const index = await indexed(
    t,
    inRanges((told) => told.map((log) => (isSecondLoan(log) ? withOtherData(log) : log))),
    full,
  )
  const before = await differences(t, index.db, full)
  t.match(before, [/^replace CreateLoanOffer/])
  const receipts = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
  let lies = 0
  index.proxy.fault = lyingAnswers([...receipts, 'eth_getLogs'], (result, { method }) => {
    if (method !== 'eth_getLogs') return new Refusal(-32000, 'receipts are away')
    const others = (result as Json[]).filter((log) => !isOurs(log))
    if (others.length === 0) return undefined
    lies += 1
    return others.map((log, at) => ({ ...log, logIndex: `0x${at.toString(16)}` }))
  })
  // The equal loan is proven once with each correction that is tried.
  await prove(index, () => Promise.resolve((index.health.stateProof?.proven ?? 0) > 2))
  t.ok(lies > 0, 'lies were told')
  t.same(await differences(t, index.db, full), before)
})

void t.test('a loan that is too long to be read is corrected once, if the log lacks it', async (t) => {
  const long = await chainWith(t, async (long) => {
    await offerLoan(long, `0x${'01'.repeat(8193)}`)
    await long.mine()
  })
  const index = await indexed(
    t,
    inRanges((told) => told.filter((log) => !isSecondLoan(log))),
    long,
  )
  t.match(await differences(t, index.db, long), [/^append CreateLoanOffer/])
  await prove(index, () => Promise.resolve((index.health.stateProof?.proven ?? 0) > 4))
  t.same(await differences(t, index.db, long), [])
  t.match(index.health, { problem: null, stateProof: { corrected: 1, differing: 0 } })
  t.equal(
    await findProvenState(index.db, IDENTITY.network),
    null,
    'nothing is said of a loan that is not read',
  )
})

void t.test('a number that the contract counts and keeps nothing of is no difference', async (t) => {
  const odd = await chainWith(t, async (odd) => {
    await odd.rpc('anvil_setStorageAt', odd.loans, `0x${'1'.padStart(64, '0')}`, `0x${'2'.padStart(64, '0')}`)
    await odd.mine()
  })
  const index = await indexed(t, () => null, odd)
  await prove(index, () => Promise.resolve((index.health.stateProof?.proven ?? 0) > 2))
  t.match(index.health, { problem: null, stateProof: { corrected: 0, differing: 0 } })
  t.not(await findProvenState(index.db, IDENTITY.network), null)
})

void t.test('an invented loan that a reindex retracted differs no longer', async (t) => {
  const id = (10_000).toString(16).padStart(64, '0')
  const index = await indexed(
    t,
    inRanges((told) =>
      told.map((log) =>
        isSame(log, first) ? { ...log, data: `0x${id}${String(log['data']).slice(66)}` } : log,
      ),
    ),
  )
  const { health, db } = index
  const receipts = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
  index.proxy.fault = lyingAnswers(receipts, () => new Refusal(-32000, 'receipts are away'))
  let isReindexed = false
  const untilMs = performance.now() + 30_000
  await prove(index, async () => {
    if (health.stateProof?.differing === 2 && health.problem !== null && !isReindexed) {
      isReindexed = true
      await ingestReading(db, IDENTITY, null, await honestReading(t, chain))
    }
    return (isReindexed && health.problem === null) || performance.now() > untilMs
  })
  t.ok(isReindexed, 'two loans differed')
  t.match(health, { problem: null, stateProof: { corrected: 0, differing: 0 } })
})

void t.test('all loans are proven again after a multiple of the time that it took', async (t) => {
  const few = await chainWith(t, () => Promise.resolve())
  const index = await indexed(t, () => null, few)
  const untilMs = performance.now() + 20_000
  const isAgain = (): boolean => (index.health.stateProof?.proven ?? 0) > 1
  await prove(index, () => Promise.resolve(isAgain() || performance.now() > untilMs), {
    ...PACE,
    allMs: 3_600_000,
  })
  t.ok(isAgain(), 'the only loan was proven twice')
})
