import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { newNetworkHealth, type HandedInCounts } from '../../indexer/network-state.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import type { QueueBackend } from '../../indexer/queue/backend.ts'
import { MOST_VOUCHER_CHARACTERS, startVoucherWorker } from '../../indexer/queue/voucher-worker.ts'
import { runNodeVouchers, runVouchers } from '../../indexer/run-vouchers.ts'
import { openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { untilAborted } from '../../shared/async/abort.ts'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction, isDatabaseRetryable } from '../../shared/db/transaction.ts'
import { lockLog } from '../../indexer/event-log/read-log.ts'
import { createLogger } from '../../shared/log.ts'
import { encodeAddress } from '../../shared/filecoin/address.ts'
import { encodeCbor } from '../../shared/filecoin/cbor.ts'
import { testDatabase } from '../helpers/database.ts'
import {
  creation,
  deadLetters,
  handedInEvents,
  NETWORK,
  waitingCount,
  writeChain,
} from '../helpers/handed-in.ts'
import { eventually } from '../helpers/programs.ts'
import { blocksOf } from '../helpers/documents.ts'
import { queueKinds, type QueueKind } from '../helpers/queue-kinds.ts'
import { testRedis } from '../helpers/redis.ts'
import {
  BORROWER,
  CHANNEL,
  keyOf,
  sign,
  signedText,
  signStatement,
  STATEMENT,
  unsignedVoucher,
} from '../helpers/signed-vouchers.ts'
import { encodeVoucher } from '../../shared/filecoin/voucher.ts'

t.setTimeout(900_000)
type Test = Parameters<typeof testDatabase>[0]

interface Running {
  db: Db
  databaseUrl: string
  redisUrl: string | undefined
  backend: QueueBackend
  counts: HandedInCounts
  stop: () => Promise<void>
}

type Place = Pick<Running, 'db' | 'databaseUrl' | 'redisUrl'>

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The vouchers' half of an indexer that leads the network, and the channel of the helpers. */
async function start(
  t: Test,
  kind: QueueKind,
  readNodeVouchers: (() => Promise<string[]>) | null = null,
  before?: Place,
): Promise<Running | undefined> {
  const stage = before ?? (await place(t, kind))
  if (stage === undefined) return undefined
  const { db, databaseUrl, redisUrl } = stage
  const backend = openQueueBackend({ redisUrl, databaseUrl }, (error) => t.comment(error.message))
  const { handedIn: counts } = newNetworkHealth({ network: NETWORK, blockchain: 'FIL', networkId: 'testnet' })
  if (counts === null) throw new Error('a Filecoin network counts what is handed in')
  const stopping = new AbortController()
  const running = runVouchers({
    network: NETWORK,
    networks: [NETWORK],
    counts,
    db,
    backend,
    log: createLogger('test', 'silent'),
    signal: stopping.signal,
  })
  const log = createLogger('test', 'silent')
  const reading =
    readNodeVouchers === null
      ? Promise.resolve()
      : runNodeVouchers({ network: NETWORK, counts, db, log, signal: stopping.signal }, readNodeVouchers)
  let stopped = false
  const stop = async (): Promise<void> => {
    if (stopped) return
    stopped = true
    stopping.abort()
    await Promise.all([running, reading])
    backend.close()
  }
  t.teardown(stop)
  return { db, databaseUrl, redisUrl, backend, counts, stop }
}

/** Databases with the channel of the helpers. */
async function place(t: Test, kind: QueueKind): Promise<Place | undefined> {
  const { db, url: databaseUrl } = await testDatabase(t)
  const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
  if (redisUrl === null) return undefined
  const chain = await writeChain(db)
  await chain.append(creation())
  await chain.finalize()
  return { db, databaseUrl, redisUrl }
}

/** A voucher queue from which nobody takes jobs yet. */
async function queueOfNobody(t: Test, kind: QueueKind): Promise<QueueBackend | undefined> {
  const stage = await place(t, kind)
  if (stage === undefined) return undefined
  const backend = openQueueBackend(stage, () => undefined)
  t.teardown(() => backend.close())
  return backend
}

async function jobCounts(backend: QueueBackend): Promise<Record<string, number>> {
  const queue = openVoucherQueue(backend)
  try {
    return await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
  } finally {
    await queue.close()
  }
}

async function add(backend: QueueBackend, ...jobs: unknown[]): Promise<void> {
  const queue = openVoucherQueue(backend)
  try {
    for (const job of jobs) await queue.add('voucher', job, {})
  } finally {
    await queue.close()
  }
}

for (const kind of queueKinds) {
  void t.test(`on ${kind}`, async (t) => {
    await t.test('jobs become facts, or dead letters that say why', async (t) => {
      const running = await start(t, kind)
      if (running === undefined) return
      const { db, backend, counts } = running
      await add(
        backend,
        { network: 'testnet', voucher: signedText() },
        { voucher: signedText() },
        { statement: signStatement(STATEMENT) },
        { voucher: signedText({}, keyOf('stranger')) },
        { network: 'mainnet', voucher: signedText() },
        { voucher: signedText({ amount: 501n }) },
      )
      await eventually(
        'all are judged',
        () => counts.accepted + counts.known + counts.refused + counts.waiting >= 6,
      )
      t.match(counts, { accepted: 2, known: 1, waiting: 1, refused: 2 })
      t.match((await deadLetters(db)).map(({ reason }) => reason).sort(), [
        /neither party/,
        /no Filecoin network "mainnet" is configured/,
      ])
      const queue = openVoucherQueue(backend)
      let left: Record<string, number> = {}
      await eventually(
        () => `the queue is empty, but it has ${JSON.stringify(left)}`,
        async () => {
          left = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
          return Object.values(left).every((n) => n === 0)
        },
      )
      await queue.close()
    })

    await t.test('two minutes of a hostile hour: all that is refused can be looked at', async (t) => {
      const running = await start(t, kind)
      if (running === undefined) return
      const { db, backend, counts } = running
      // Postgres has no NUL: its queue refuses such a job where it is added, Redis takes it.
      const nul = { statement: signStatement('{"a":"\0"}') }
      if (kind === 'postgres') await t.rejects(add(backend, nul), /Unicode escape/)
      // Nor does it take what is larger than any voucher.
      const isLarge = (job: unknown): boolean => JSON.stringify(job).length > MOST_VOUCHER_CHARACTERS
      const large = hostileJobs().filter(isLarge)
      if (kind === 'postgres') for (const job of large) await t.rejects(add(backend, job), /bounded_job/)
      const garbage =
        kind === 'redis' ? [...hostileJobs(), nul] : hostileJobs().filter((job) => !isLarge(job))
      const [first, ...rest] = garbage
      await add(backend, first, { voucher: signedText({ nonce: 5n }) }, ...rest, {
        voucher: signedText({ nonce: 6n }),
      })
      await eventually(
        'all are judged',
        () => counts.accepted + counts.refused >= garbage.length + 2,
        120_000,
      )
      t.match(counts, { accepted: 2, refused: garbage.length }, 'the good ones among them are facts')
      t.equal((await handedInEvents(db)).length, 2)
      t.equal(await waitingCount(db), 0)
      const letters = await deadLetters(db)
      t.equal(
        letters.reduce((sum, { attempts }) => sum + attempts, 0),
        garbage.length,
      )
      t.ok(letters.every(({ reason }) => reason.length > 5 && reason.length <= 1_000))
      t.ok(letters.every(({ payload }) => JSON.stringify(payload).length <= 70_000))
      t.ok(letters.some(({ is_cut: isCut }) => isCut))
      t.comment([...new Set(letters.map(({ reason }) => reason.slice(0, 90)))].join('\n'))
    })

    await t.test('a worker that stops leaves what it has not done to the next', async (t) => {
      const running = await start(t, kind)
      if (running === undefined) return
      const { db, databaseUrl, redisUrl } = running
      await running.stop()
      const backend = openQueueBackend({ redisUrl, databaseUrl }, () => undefined)
      t.teardown(() => backend.close())
      await add(backend, { voucher: signedText() })
      const counts = { accepted: 0, known: 0, waiting: 0, refused: 0, queued: 0 }
      const stopping = new AbortController()
      const next = runVouchers({
        network: NETWORK,
        networks: [NETWORK],
        counts,
        db,
        backend,
        log: createLogger('test', 'silent'),
        signal: stopping.signal,
      })
      await eventually('it is taken', () => counts.accepted === 1)
      stopping.abort()
      await next
    })

    await t.test('a job whose database is away is put back, not lost, when its worker stops', async (t) => {
      const backend = await queueOfNobody(t, kind)
      if (backend === undefined) return
      await add(backend, { voucher: signedText() })
      const stopping = new AbortController()
      let tries = 0
      const handling = {
        refusalOf: () => null,
        isRetryable: () => true,
        onRetry: () => undefined,
        onDead: () => Promise.reject(new Error('nothing is refused')),
      }
      const first = startVoucherWorker<string>(backend, {
        ...handling,
        ingest: () => {
          tries += 1
          return Promise.reject(new Error('the database is away'))
        },
        onDone: () => void t.fail('nothing was written'),
        signal: stopping.signal,
      })
      await eventually('it is tried again', () => tries >= 2)
      stopping.abort()
      await first.close()
      const taken: unknown[] = []
      const second = startVoucherWorker<string>(backend, {
        ...handling,
        ingest: () => Promise.resolve('written'),
        onDone: (_outcome, data) => void taken.push(data),
        signal: new AbortController().signal,
      })
      await eventually('the next worker takes it', () => taken.length === 1)
      await second.close()
      t.same(taken, [{ voucher: signedText() }])
    })

    await t.test('a stop that closes the database under a job loses nothing', async (t) => {
      const backend = await queueOfNobody(t, kind)
      if (backend === undefined) return
      await add(backend, { voucher: signedText() })
      const stopping = new AbortController()
      const closed = (): Promise<never> => Promise.reject(new Error('driver has already been destroyed'))
      let isTaken = false
      const first = startVoucherWorker<string>(backend, {
        ingest: async () => {
          isTaken = true
          await untilAborted(stopping.signal)
          return closed()
        },
        ...{ refusalOf: () => null, isRetryable: isDatabaseRetryable, onDone: closed, onDead: closed },
        ...{ onRetry: () => undefined, signal: stopping.signal },
      })
      await eventually('it is taken', () => isTaken)
      stopping.abort()
      await first.close()
      t.match(await jobCounts(backend), { waiting: 1 })
    })

    await t.test('a job that cannot be kept as a dead letter stays until it can', async (t) => {
      const backend = await queueOfNobody(t, kind)
      if (backend === undefined) return
      await add(backend, { voucher: signedText() })
      let failures = 0
      const worker = startVoucherWorker<string>(backend, {
        ingest: () => Promise.reject(new Error('a bug')),
        ...{ refusalOf: () => null, isRetryable: isDatabaseRetryable, onDone: () => undefined },
        onDead: ({ reason }) => {
          t.equal(reason, 'a bug')
          failures += 1
          return failures < 3 ? Promise.reject(new Error('permission denied')) : Promise.resolve()
        },
        ...{ onRetry: () => undefined, signal: new AbortController().signal },
      })
      await eventually('it is kept', () => failures === 3)
      await worker.close()
      t.match(await jobCounts(backend), { waiting: 0, active: 0, failed: 0 })
    })

    await t.test('a stop leaves the jobs that wait for their turn to the next process', async (t) => {
      const running = await start(t, kind)
      if (running === undefined) return
      const { db, backend, counts, databaseUrl, redisUrl } = running
      const vouchers = Array.from({ length: 20 }, (_, nonce) => ({
        voucher: signedText({ nonce: BigInt(nonce) }),
      }))
      const freeing = new AbortController()
      let held = Promise.resolve()
      await new Promise<void>((locked) => {
        held = inTransaction(db, async (trx) => {
          await lockLog(trx)
          locked()
          await untilAborted(freeing.signal)
        })
      })
      await add(backend, ...vouchers)
      await eventually('all are taken', async () => (await jobCounts(backend))['active'] === vouchers.length)
      const stopped = running.stop()
      await eventually('most are put back', async () => ((await jobCounts(backend))['waiting'] ?? 0) >= 18)
      freeing.abort()
      await Promise.all([held, stopped])
      t.ok(counts.accepted <= 2, `${counts.accepted} were in hand`)
      const next = await start(t, kind, null, { db, databaseUrl, redisUrl })
      await eventually('the rest is taken', async () => (await handedInEvents(db)).length === vouchers.length)
      await next?.stop()
    })

    await t.test(
      'a job that a killed process had in hand is taken soon, and not after a minute',
      async (t) => {
        const running = await start(t, kind)
        if (running === undefined) return
        const { databaseUrl, redisUrl } = running
        await running.stop()
        const backend = openQueueBackend(running, () => undefined)
        t.teardown(() => backend.close())
        const urls = redisUrl === undefined ? [databaseUrl] : [databaseUrl, redisUrl]
        const killed = fork(join(ROOT, 'test/helpers/voucher-taker-main.ts'), urls, {
          ...{ execArgv: ['--import=tsx', '--no-warnings'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
        })
        t.teardown(() => killed.kill('SIGKILL'))
        await add(backend, { voucher: signedText() })
        t.same(await once(killed, 'message'), ['has it', undefined])
        killed.kill('SIGKILL')
        await once(killed, 'exit')
        const taken: unknown[] = []
        const next = startVoucherWorker<string>(backend, {
          ingest: () => Promise.resolve('written'),
          refusalOf: () => null,
          isRetryable: () => true,
          onDone: (_outcome, data) => void taken.push(data),
          onRetry: () => undefined,
          onDead: () => Promise.reject(new Error('nothing is refused')),
          signal: new AbortController().signal,
        })
        t.teardown(() => next.close())
        // Two looks of the queue for lost jobs, 10 s; with locks of half a minute these are a minute.
        await eventually('the next worker takes it', () => taken.length === 1, 25_000)
        t.same(taken, [{ voucher: signedText() }])
      },
    )

    await t.test('the producer of docs/vouchers.md', async (t) => {
      const running = await start(t, kind)
      if (running === undefined) return
      const { counts, databaseUrl, redisUrl } = running
      const sample = blocksOf('docs/vouchers.md').find(
        ({ language, lines }) => language === 'js' && lines.join().includes('bullmq'),
      )
      t.ok(sample)
      t.ok((sample?.lines.length ?? 99) <= 12)
      // Below the packages, for it imports one.
      const folder = await mkdtemp(join(ROOT, 'node_modules/.readme-'))
      t.teardown(() => rm(folder, { recursive: true, force: true }))
      await writeFile(join(folder, 'hand-in.mjs'), sample?.lines.join('\n') ?? '')
      const environment = redisUrl === undefined ? { DATABASE_URL: databaseUrl } : { REDIS_URL: redisUrl }
      const code = await new Promise((resolve) =>
        spawn(process.execPath, [join(folder, 'hand-in.mjs'), signedText()], {
          env: { PATH: process.env['PATH'], ...environment },
          stdio: 'inherit',
        }).once('exit', resolve),
      )
      t.equal(code, 0)
      await eventually('its voucher is a fact', () => counts.accepted === 1)
    })
  })
}

void t.test('the node’s own store is read, each voucher judged once', async (t) => {
  let reads = 0
  const running = await start(t, 'postgres', () => {
    reads += 1
    return Promise.resolve([signedText(), signedText({}, keyOf('stranger')), 'garbage'])
  })
  if (running === undefined) return
  await eventually('they are judged', () => running.counts.accepted + running.counts.refused >= 3)
  t.match(await handedInEvents(running.db), [{ way: 'node-store' }])
  t.match(await deadLetters(running.db), [{ queue: 'node-store' }, { queue: 'node-store' }])
  t.equal(reads, 1)
})

void t.test('a store that cannot be read now does not stop the rest', async (t) => {
  const running = await start(t, 'postgres', () => Promise.reject(new Error('no such method')))
  if (running === undefined) return
  await add(running.backend, { voucher: signedText() })
  await eventually('the queue goes on', () => running.counts.accepted === 1)
})

/** A voucher whose amount has a thousand digits. */
function thousandDigits(): Uint8Array {
  const [empty, amount] = [new Uint8Array(), new Uint8Array(416).fill(9)]
  amount[0] = 0
  return encodeCbor([encodeAddress(CHANNEL), 0, 0, empty, null, 0, 0, amount, 0, [], null])
}

/** What a hostile producer might think of. */
function hostileJobs(): unknown[] {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
  const merges = Array.from({ length: 100 }, (_, i) => ({ lane: BigInt(i + 1), nonce: 1n }))
  const good = Buffer.from(signedText(), 'base64')
  return [
    null,
    1,
    'text',
    [],
    {},
    { voucher: null },
    { voucher: 5 },
    { voucher: '' },
    { voucher: { toString: 'x' } },
    { voucher: ['AAAA'] },
    { voucher: 'A'.repeat(1_000_000) },
    { voucher: base64(new Uint8Array(800_000)) },
    // A megabyte of merges.
    { voucher: base64(Buffer.concat([good.subarray(0, 60), Buffer.alloc(1_000_000, 0x82)])) },
    { voucher: signedText({ merges }) },
    // Amounts of a hundred digits, and of a thousand as bytes.
    { voucher: signedText({ amount: -(10n ** 100n) }) },
    { voucher: base64(thousandDigits()) },
    { voucher: base64(Uint8Array.of(0x9f, 0x9f, 0x9f)) },
    { voucher: base64(new Uint8Array(3000).fill(0x81)) },
    { voucher: base64(Uint8Array.of(0x5b, 255, 255, 255, 255, 255, 255, 255, 255)) },
    { voucher: base64(encodeVoucher(unsignedVoucher())) },
    {
      voucher: base64(
        encodeVoucher({
          ...sign(unsignedVoucher()),
          signature: { type: 2, data: new Uint8Array(96).fill(1) },
        }),
      ),
    },
    { voucher: signedText({ channelAddr: BORROWER.address }) },
    { voucher: signedText(), statement: signStatement(STATEMENT) },
    { voucher: signedText(), more: true },
    { voucher: signedText(), network: 5 },
    { voucher: signedText(), network: '__proto__' },
    { network: 'testnet' },
    { statement: null },
    { statement: { message: {}, signature: '' } },
    { statement: { ...signStatement(STATEMENT), signature: '00'.repeat(65) } },
    { statement: signStatement({ ...STATEMENT, contractLoanId: '9'.repeat(1000) }) },
    { statement: signStatement({ ...STATEMENT, note: 'n'.repeat(1_000_000) }) },
    { statement: signStatement({ ...STATEMENT, note: 'n'.repeat(50_000) }) },
    { statement: signStatement('\uFFFD\uFFFE[[[[') },
    { statement: signStatement('['.repeat(16_000)) },
    ...Array.from({ length: 200 }, (_, i) => ({ voucher: `garbage ${i % 50}` })),
  ]
}
