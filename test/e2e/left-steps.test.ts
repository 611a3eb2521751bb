import t, { type Test } from 'tap'
import * as z from 'zod'
import { startAnvil, type Anvil } from '../../devnet/evm/anvil.ts'
import { deployContracts, type Deployment } from '../../devnet/evm/deploy.ts'
import { createPlayer, type Player } from '../../devnet/evm/player.ts'
import { anything, createRpc, hex } from '../../devnet/evm/rpc.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import type { JobQueue } from '../../indexer/queue/backend.ts'
import { openStepQueue } from '../../indexer/queue/step-queue.ts'
import type { Db } from '../../shared/db/connect.ts'
import { roleLease, takeLease, type Lease } from '../../shared/db/leases.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, untilSynced, type IndexerProcess } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { queueKinds } from '../helpers/queue-kinds.ts'
import { testRedis } from '../helpers/redis.ts'

t.setTimeout(300_000)

const NETWORK = 'evm:31337'
const REORG_DEPTH = 4
/** Steps that a reader gives to the queue before one is written. */
const MOST_UNWRITTEN = 3

interface Stage {
  db: Db
  anvil: Anvil
  deployment: Deployment
  player: Player
  queue: JobQueue
  /** Keeps every indexer from writing until it is released; their readers go on. */
  holdWriter: () => Promise<Lease>
  indexer: () => Promise<IndexerProcess>
}

async function stage(t: Test, kind: 'redis' | 'postgres'): Promise<Stage | undefined> {
  const { url: databaseUrl, db } = await testDatabase(t)
  const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
  if (redisUrl === null) return undefined
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 'left steps' })
  const networks = {
    evm: [
      {
        ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
    ],
  }
  const backend = openQueueBackend({ redisUrl, databaseUrl }, (error) => t.comment(error.message))
  const queue = openStepQueue(backend, NETWORK)
  t.teardown(async () => {
    await queue.close()
    backend.close()
  })
  const holdWriter = async (): Promise<Lease> => {
    const lease = await takeLease(databaseUrl, roleLease('writer', NETWORK))
    if (lease === undefined) throw new Error('a process writes')
    t.teardown(() => lease.release().catch(() => undefined))
    return lease
  }
  const indexer = (): Promise<IndexerProcess> =>
    indexerProcess(t, { databaseUrl, redisUrl: redisUrl ?? null, networks })
  return { db, anvil, deployment, player, queue, holdWriter, indexer }
}

interface Place {
  number: number
  hash: string | null
  readerEpoch: number
  /** The reader whose step was written last. */
  writtenEpoch: number
}

async function placeOf(db: Db): Promise<Place> {
  const row = await db.selectFrom('ledger.chain_position').selectAll().executeTakeFirstOrThrow()
  const { number, hash, reader_epoch: readerEpoch, written_epoch: writtenEpoch } = row
  return { number: number ?? -1, hash, readerEpoch, writtenEpoch }
}

const blockSchema = z.object({ hash: hex }).nullable()

/** The hashes of the node's branch, by number. */
async function branchOf({ anvil }: Stage): Promise<string[]> {
  const rpc = createRpc(anvil.url)
  const hashes: string[] = []
  for (;;) {
    const block = await rpc.call(
      blockSchema,
      'eth_getBlockByNumber',
      `0x${hashes.length.toString(16)}`,
      false,
    )
    if (block === null) return hashes
    hashes.push(block.hash)
  }
}

async function reorganize({ anvil }: Stage): Promise<void> {
  await createRpc(anvil.url).call(anything, 'anvil_reorg', REORG_DEPTH, [])
}

async function waiting({ queue }: Stage): Promise<number> {
  const { waiting: count = 0 } = await queue.getJobCounts('waiting')
  return count
}

async function activeOf({ queue }: Stage): Promise<number> {
  const { active = 0 } = await queue.getJobCounts('active')
  return active
}

/** Runs a reader that puts steps into the queue which nobody takes, and kills it. Returns the branch that it has read. */
async function leaveSteps(ground: Stage, reader: IndexerProcess): Promise<string[]> {
  const before = await waiting(ground)
  reader.start()
  // Final blocks, their finality, and the blocks after it: all that there is, while the chain stands still.
  await eventually('its steps wait', async () => (await waiting(ground)) >= before + MOST_UNWRITTEN)
  await reader.kill()
  return branchOf(ground)
}

for (const kind of queueKinds) {
  void t.test(`on ${kind}, steps of killed readers are written if they continue the position`, async (t) => {
    const ground = await stage(t, kind)
    if (ground === undefined) return
    const { db, anvil, deployment, player, holdWriter, indexer } = ground
    const writer = await holdWriter()
    const reader = await indexer()
    await player.playLoans(3)
    const left = await leaveSteps(ground, reader)
    await reorganize(ground)
    const other = await leaveSteps(ground, reader)
    t.match(await placeOf(db), { hash: null, readerEpoch: 2, writtenEpoch: 0 }, 'nobody writes')

    // Nothing can be read now: what is written was in the queue.
    process.kill(anvil.pid, 'SIGSTOP')
    t.teardown(() => process.kill(anvil.pid, 'SIGCONT'))
    await writer.release()
    reader.start()
    await eventually('none waits', async () => (await waiting(ground)) === 0)
    await eventually('the last one was looked at', async () => (await activeOf(ground)) === 0)
    const { number, hash } = await placeOf(db)
    t.equal(hash, left[number], 'the steps of the first reader are written')
    t.not(hash, other[number], 'and those of the second one dropped')

    process.kill(anvil.pid, 'SIGCONT')
    await untilSynced(db, anvil.url, reader)
    await player.playLoans(2)
    await untilSynced(db, anvil.url, reader)
    const { logs, differences } = await compareWithChain(db, anvil.url, deployment)
    t.ok(logs > 0)
    t.same(differences, [])
    t.equal(await reader.stop(), 0)
  })

  void t.test(`on ${kind}, a frozen reader that wakes up changes nothing`, async (t) => {
    const ground = await stage(t, kind)
    if (ground === undefined) return
    const { db, anvil, deployment, player, holdWriter, indexer } = ground
    const writer = await holdWriter()
    const [frozen, next] = [await indexer(), await indexer()]
    frozen.start()
    // More steps than the queue takes: the rest is in its memory when it wakes up.
    for (let full = false; !full; full = (await waiting(ground)) >= MOST_UNWRITTEN) await player.playLoans(1)
    await player.playLoans(1)
    process.kill(frozen.pid, 'SIGSTOP')
    t.teardown(() => frozen.kill())
    await reorganize(ground)
    await player.playLoans(2)
    await writer.release()
    next.start()
    await untilSynced(db, anvil.url, next)
    const before = await placeOf(db)

    const said = frozen.output.length
    process.kill(frozen.pid, 'SIGCONT')
    await eventually('it stands by as a reader', () =>
      Promise.resolve(/"role":"reader".*standing by/.test(frozen.output.slice(said))),
    )
    await player.playLoans(2)
    await untilSynced(db, anvil.url, next)
    t.match(await placeOf(db), { readerEpoch: before.readerEpoch, writtenEpoch: before.readerEpoch })
    t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])
    t.equal(await frozen.stop(), 0)
    t.equal(await next.stop(), 0)
  })
}
