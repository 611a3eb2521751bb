import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Db } from '../shared/db/connect.ts'
import { isDatabaseRetryable } from '../shared/db/transaction.ts'
import { messageOf } from '../shared/errors.ts'
import type { HandedIn } from '../shared/events/handed-in.ts'
import type { Logger } from '../shared/log.ts'
import { ABORTED, unlessAborted } from '../shared/async/abort.ts'
import { networkOf, whichNetwork } from './handed-in-network.ts'
import { DeadLetterBox } from './ingest/dead-letter-box.ts'
import { forgetDeadLetters, putDeadLetter } from './ingest/dead-letters.store.ts'
import { getKnown, ingestAwaited, ingestHandedIn, type HandInOutcome } from './ingest/ingest-voucher.ts'
import { payloadDigest } from './ingest/storable-json.ts'
import type { Known } from './ingest/waiting-vouchers.store.ts'
import type { HandedInCounts } from './network-state.ts'
import type { JobWorker, QueueBackend } from './queue/backend.ts'
import { closeParts } from './queue/close-parts.ts'
import { openVoucherQueue } from './queue/voucher-queue.ts'
import { startVoucherWorker } from './queue/voucher-worker.ts'
import type { NodeVoucher } from './sources/filecoin/node-vouchers.ts'

interface HandedInRun {
  /** The Filecoin network that this process leads: `filecoin:<id>`. */
  network: string
  counts: HandedInCounts
  db: Db
  log: Logger
  signal: AbortSignal
}

export interface VoucherRun extends HandedInRun {
  /** All Filecoin networks that are configured: a job may be for any of them. */
  networks: string[]
  backend: QueueBackend
}

const LOOK_AGAIN_MS = 1_000
const AWAITED_AT_ONCE = 200
/** All that waits is gone through so often; in between, only what waits for channels that changed. */
const LOOK_AT_ALL_MS = 60_000
const NODE_STORE_MS = 30_000
/** Vouchers that are judged and remembered in each look. The node's store is read from its beginning each time. */
const NODE_VOUCHERS_AT_ONCE = 1_000
const NODE_VOUCHERS_REMEMBERED = 100_000
/** Vouchers of the queue judged at once. The network's writer shares the pool of connections. */
const TRANSACTIONS = 2
const WATCH_MS = 5_000
/** A worker that takes nothing for this long while jobs wait is replaced. */
const STUCK_MS = 30_000

/**
 * Takes vouchers from the queue, and those that waited for their channels, beside the writer of a Filecoin network. Ends once
 * `signal` aborts. Never rejects: it logs a failure and tries again.
 */
export async function runVouchers(run: VoucherRun): Promise<void> {
  await Promise.all([
    takeJobs(run),
    every(run, LOOK_AGAIN_MS, 'what waits for its channel', awaitedReader(run)),
  ])
}

/**
 * Takes the vouchers of the node's own store, beside the one reader of a Filecoin network, until `signal` aborts: a writer
 * needs no node. Never rejects.
 */
export async function runNodeVouchers(
  run: HandedInRun,
  readNodeVouchers: () => Promise<NodeVoucher[]>,
): Promise<void> {
  await every(run, NODE_STORE_MS, 'the node’s voucher store', nodeStoreReader(run, readNodeVouchers))
}

/** Does `work` at once and then at intervals; a failure is told when it is another one than the last. */
async function every(
  run: HandedInRun,
  intervalMs: number,
  what: string,
  work: () => Promise<void>,
): Promise<void> {
  let problem = ''
  while (!run.signal.aborted) {
    try {
      await work()
      problem = ''
    } catch (error) {
      const message = messageOf(error)
      if (message !== problem && !isAborted(run.signal))
        run.log.warn({ network: run.network }, `${what}: ${message}`)
      problem = message
    }
    await sleep(intervalMs, undefined, { signal: run.signal }).catch(() => undefined)
  }
}

/** A function, for the compiler takes a flag that it saw once for one that never changes. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}

async function takeJobs(run: VoucherRun): Promise<void> {
  const queue = openVoucherQueue(run.backend)
  const progress = { atMs: performance.now() }
  let worker = startWorker(run, progress)
  await every(run, WATCH_MS, 'the voucher queue', async () => {
    // A server that is frozen answers nothing, and nobody waits for it who is to stop.
    const counts = await unlessAborted(queue.getJobCounts('waiting'), run.signal)
    if (counts === ABORTED) return
    run.counts.queued = counts['waiting'] ?? 0
    if (run.counts.queued === 0) progress.atMs = performance.now()
    if (performance.now() - progress.atMs < STUCK_MS) return
    run.log.warn(
      { network: run.network },
      `the voucher worker took nothing for ${STUCK_MS} ms: another one starts`,
    )
    await closeParts(worker)
    progress.atMs = performance.now()
    worker = startWorker(run, progress)
  })
  await closeParts(worker, queue)
}

function startWorker(run: VoucherRun, progress: { atMs: number }): JobWorker {
  const { db, backend, counts, log, signal } = run
  const deadLetters = new DeadLetterBox(db)
  const inTurn = pLimit({ concurrency: TRANSACTIONS, rejectOnClear: true })
  // A stop puts back the jobs that still wait for their turn.
  signal.addEventListener('abort', () => inTurn.clearQueue(), { once: true })
  return startVoucherWorker<HandInOutcome>(backend, {
    ingest: async (networkId, item) => {
      signal.throwIfAborted()
      return inTurn(() => ingestJob(run, networkId, item))
    },
    refusalOf: ({ outcome, reason }) => (outcome === 'refused' ? (reason ?? 'refused') : null),
    isRetryable: isDatabaseRetryable,
    onDone: async ({ outcome }, data) => {
      progress.atMs = performance.now()
      if (outcome === 'refused') return
      counts[outcome] += 1
      await forgetDeadLetters(db, payloadDigest(data))
    },
    onRetry: (error) => {
      // It is at work: another worker would find the database away as well.
      progress.atMs = performance.now()
      log.warn({ network: run.network }, `writing a voucher: ${messageOf(error)}`)
    },
    onDead: async ({ networkId: network, data: payload, ...dead }) => {
      progress.atMs = performance.now()
      await deadLetters.put({ ...dead, network, payload })
      counts.refused += 1
    },
    signal,
  })
}

async function ingestJob(
  { db, networks }: VoucherRun,
  networkId: string | null,
  item: HandedIn,
): Promise<HandInOutcome> {
  const network = networkOf(networks, networkId)
  return network === undefined
    ? { outcome: 'refused', reason: whichNetwork(networks, networkId) }
    : ingestHandedIn(db, { network, item }, 'queue')
}

/**
 * A look at all begins where the one before the last began, because a transaction that was open during a look may have written
 * what it missed. The first look begins at nothing.
 */
function awaitedReader({ db, network, counts, signal }: HandedInRun): () => Promise<void> {
  const nothing: Known = { position: 0, finalizedEpoch: -1 }
  let last = nothing
  let alls = { before: nothing, last: nothing, atMs: -Infinity }
  return async () => {
    const atMs = performance.now()
    const to = await getKnown(db, network)
    const isAll = atMs - alls.atMs >= LOOK_AT_ALL_MS
    const look = isAll
      ? ({ of: 'all', from: alls.before } as const)
      : ({ of: 'changed', from: last } as const)
    for (let afterId: number | null = 0; afterId !== null && !signal.aborted;) {
      const page = await ingestAwaited(db, network, { ...look, to, afterId, limit: AWAITED_AT_ONCE })
      for (const { outcome } of page.outcomes) if (outcome !== 'waiting') counts[outcome] += 1
      afterId = page.nextAfterId
    }
    last = to
    if (isAll) alls = { before: alls.last, last: to, atMs }
  }
}

/** Each voucher of the node is judged once by this process; one that was refused is a dead letter. */
function nodeStoreReader(
  { db, network, counts, signal }: HandedInRun,
  readNodeVouchers: () => Promise<NodeVoucher[]>,
): () => Promise<void> {
  const judged = new Set<string>()
  return async () => {
    const fresh = (await readNodeVouchers()).filter((voucher) => !judged.has(payloadDigest(voucher)))
    for (const voucher of fresh.slice(0, NODE_VOUCHERS_AT_ONCE)) {
      if (signal.aborted) return
      const { outcome, reason }: HandInOutcome =
        typeof voucher === 'string'
          ? await ingestHandedIn(db, { network, item: { voucher } }, 'node-store')
          : { outcome: 'refused', reason: voucher.reason }
      counts[outcome] += 1
      if (outcome === 'refused') {
        const networkId = network.slice(network.indexOf(':') + 1)
        const payload = { network: networkId, ...(typeof voucher === 'string' ? { voucher } : voucher) }
        await putDeadLetter(db, { queue: 'node-store', jobId: null, network, payload, reason: reason ?? '' })
      }
      if (judged.size >= NODE_VOUCHERS_REMEMBERED) judged.clear()
      judged.add(payloadDigest(voucher))
    }
  }
}
