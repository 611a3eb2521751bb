import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { keepStatus } from '../../indexer/keep-status.ts'
import { newNetworkHealth } from '../../indexer/network-state.ts'
import type { QueueBackend } from '../../indexer/queue/backend.ts'
import { watchQueue } from '../../indexer/watch-queue.ts'
import { Wakeup } from '../../shared/async/wakeup.ts'
import type { Db } from '../../shared/db/connect.ts'
import { createLogger } from '../../shared/log.ts'
import { testDatabase } from '../helpers/database.ts'

type Told = { network: string; state: string; problem: string | null }

async function told(db: Db): Promise<Told[]> {
  return db
    .selectFrom('ledger.network_status')
    .select(['network', 'state', 'problem'])
    .orderBy('network')
    .execute()
}

/** Returns as soon as `wanted` is told, and after a minute in any case; the result is what is told then. */
async function untilTold(db: Db, wanted: Told[]): Promise<Told[]> {
  for (let waited = 0; waited < 60_000; waited += 20) {
    const now = await told(db)
    if (JSON.stringify(now) === JSON.stringify(wanted)) return now
    await delay(20)
  }
  return told(db)
}

void t.test('a state is told when it is entered, not at the next interval', async (t) => {
  const { db } = await testDatabase(t)
  const changed = new Wakeup()
  const networks = ['evm:1', 'evm:2'].map((network) =>
    newNetworkHealth({ network, blockchain: 'DEVNET', networkId: network.slice(4), roles: ['reader'] }, () =>
      changed.raise(),
    ),
  )
  const [first, second] = networks
  for (const network of networks) network.lead('reader')
  const stopping = new AbortController()
  const log = createLogger('test', 'silent')
  const keeping = keepStatus(db, networks, { changed, signal: stopping.signal, log, intervalMs: 3_600_000 })
  t.teardown(() => stopping.abort())
  const following = { state: 'following', problem: null }

  first?.enter('reader', 'following')
  second?.enter('reader', 'standby')
  const alone = [{ network: 'evm:1', ...following }]
  t.same(await untilTold(db, alone), alone, 'a standby says nothing')

  second?.enter('reader', 'following')
  const both = [...alone, { network: 'evm:2', ...following }]
  t.same(await untilTold(db, both), both)
  const rows = await db.selectFrom('ledger.network_status').select('told_with').execute()
  t.same(rows, Array(2).fill({ told_with: ['evm:1', 'evm:2'] }), 'told together')

  // Two changes while the first is being written: neither is lost.
  first?.fail('reading', 'node', 'the node is away')
  first?.fail('reading', 'node', 'the node is still away', [2])
  await delay(1)
  second?.enter('reader', 'stopped')
  second?.fail('stopped', 'stopped', 'other contracts')
  const troubled = [
    { network: 'evm:1', state: 'retrying', problem: 'the node is still away' },
    { network: 'evm:2', state: 'stopped', problem: 'other contracts' },
  ]
  t.same(await untilTold(db, troubled), troubled)
  const places = await db
    .selectFrom('ledger.network_status')
    .select('problem_endpoints as places')
    .orderBy('network')
    .execute()
  t.same(places, [{ places: [2] }, { places: [] }])

  stopping.abort()
  await keeping
  const left = [{ network: 'evm:1', state: 'left', problem: null }, troubled[1]]
  t.same(await told(db), left, 'it leaves what it led, and what stopped for good stays so')
})

void t.test('who leads a network has the word, and others say what they know when nobody has', async (t) => {
  const { db } = await testDatabase(t)
  const log = createLogger('test', 'silent')
  const [here, there] = ['here', 'there'].map(() => {
    const changed = new Wakeup()
    const identity = { roles: ['reader'] as const, network: 'evm:1', blockchain: 'DEVNET', networkId: '1' }
    const stopping = new AbortController()
    t.teardown(() => stopping.abort())
    const network = newNetworkHealth(identity, () => changed.raise())
    const keep = (): Promise<void> =>
      keepStatus(db, [network], { changed, signal: stopping.signal, log, intervalMs: 500 })
    return { network, keep, stop: () => stopping.abort() }
  })
  if (here === undefined || there === undefined) throw new Error('two processes')
  here.network.lead('reader')
  here.network.enter('reader', 'following')
  const leading = here.keep()
  const following = [{ network: 'evm:1', state: 'following', problem: null }]
  t.same(await untilTold(db, following), following)

  there.network.enter('reader', 'stopped')
  there.network.fail('stopped', 'stopped', 'other contracts')
  const other = there.keep()
  const said = new Set<string>()
  for (let looks = 0; looks < 60; looks += 1) {
    for (const { state } of await told(db)) said.add(state)
    await delay(20)
  }
  t.same([...said], ['following'], 'not while another leads')
  here.stop()
  await leading
  const stopped = [{ network: 'evm:1', state: 'stopped', problem: 'other contracts' }]
  t.same(await untilTold(db, stopped), stopped)
  there.stop()
  await other
})

/** In the order of a jsonb value's keys. */
const EXPLORER = { address: null, transaction: 'https://explorer.example/tx/{transaction}' }

void t.test('a reader and a writer in two processes each tell their own part', async (t) => {
  const { db } = await testDatabase(t)
  const log = createLogger('test', 'silent')
  const block = { number: 9, hash: '0x09', parentHash: '0x08', timeS: 90 }
  for (const role of ['reader', 'writer'] as const) {
    const changed = new Wakeup()
    const identity = {
      roles: [role],
      network: 'evm:1',
      blockchain: 'DEVNET',
      networkId: '1',
      explorer: EXPLORER,
    }
    const network = newNetworkHealth(identity, () => changed.raise())
    Object.assign(network, { head: block, finalized: block, queueWaiting: 2, queueFailed: 1 })
    network.lead(role)
    network.enter(role, 'following')
    const stopping = new AbortController()
    const keeping = keepStatus(db, [network], { changed, signal: stopping.signal, log, intervalMs: 500 })
    t.teardown(async () => {
      stopping.abort()
      await keeping
    })
    if (role === 'reader') network.fail('reading', 'node', 'no node answers')
  }
  const rows = async (): Promise<unknown[]> =>
    db
      .selectFrom('ledger.network_status')
      .select([
        'role',
        'state',
        'problem',
        'head_number',
        'finalized_number',
        'queue_waiting',
        'queue_failed',
        'explorer',
      ])
      .orderBy('role')
      .execute()
  const of = (role: string, state: string, problem: string | null) => ({ role, state, problem })
  const wanted = [
    {
      ...of('reader', 'retrying', 'no node answers'),
      ...{ head_number: 9, finalized_number: 9, queue_waiting: null, queue_failed: null },
      explorer: EXPLORER,
    },
    {
      ...of('writer', 'following', null),
      ...{ head_number: null, finalized_number: null, queue_waiting: 2, queue_failed: 1 },
      explorer: null,
    },
  ]
  const isThere = async (): Promise<boolean> => JSON.stringify(await rows()) === JSON.stringify(wanted)
  for (let waited = 0; waited < 60_000 && !(await isThere()); waited += 20) await delay(20)
  t.same(await rows(), wanted)
})

void t.test(
  'a queue that is back is reported once, so that late warnings of its connections are dropped',
  async (t) => {
    const { db } = await testDatabase(t)
    const network = newNetworkHealth({ network: 'evm:1', blockchain: 'DEVNET', networkId: '1' })
    const stopping = new AbortController()
    const log = createLogger('test', 'silent')
    let asked = 0
    let backs = 0
    const ask = (): Promise<void> => {
      asked += 1
      return asked === 1 ? Promise.reject(new Error('no connection')) : Promise.resolve()
    }
    const backend = { kind: 'redis', ask } as unknown as QueueBackend
    const watch = watchQueue(backend, db, [network], {
      signal: stopping.signal,
      log,
      onBack: () => (backs += 1),
    })
    while (network.problem === null) await delay(5)
    t.equal(backs, 0)
    while (asked < 3) await delay(20)
    t.match(network, { problem: null })
    t.equal(backs, 1)
    stopping.abort()
    await watch.ended
  },
)
