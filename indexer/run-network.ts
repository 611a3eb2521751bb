import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../shared/log.ts'
import type { ChainStep } from '../shared/events/chain-step.ts'
import { messageOf, PermanentError, RetryableError } from '../shared/errors.ts'
import type { ProblemKind } from '../shared/indexing-health.ts'
import { Repeats } from '../shared/repeats.ts'
import type { Db } from '../shared/db/connect.ts'
import { findHolder, takeLease, writerLease, type Lease } from '../shared/db/leases.ts'
import { isDatabaseRetryable } from '../shared/db/transaction.ts'
import { findPosition, getHeaders, putWatched, raiseWriterEpoch } from './event-log/chain-position.ts'
import { getQueueKey } from './event-log/queue-key.store.ts'
import { DeadLetterBox } from './ingest/dead-letter-box.ts'
import { ingestStep, type Outcome } from './ingest/ingest-step.ts'
import type { NetworkHealth } from './network-state.ts'
import type { JobQueue, QueueBackend } from './queue/backend.ts'
import { batchQueueName, emptyBatchQueue, openBatchQueue, type BatchJob } from './queue/batch-queue.ts'
import { startBatchWorker, type BatchHandling } from './queue/batch-worker.ts'
import type { JobKey } from './queue/envelope.ts'
import { InFlight, publishSteps } from './queue/publish-steps.ts'
import type { NetworkRoom } from './queue/room.ts'
import { watchJobs } from './queue/watch-jobs.ts'
import type { ChainSource, ResumePoint } from './sources/chain-source.ts'
import { followChain } from './sources/follow-chain.ts'
import { pause } from './sources/waiting.ts'
import type { QueueWatch } from './watch-queue.ts'
import { sameJson } from './watched-networks.ts'

export interface NetworkRun {
  source: ChainSource
  health: NetworkHealth
  /** What is watched: an index made of other contracts is another index. */
  watched: unknown
  db: Db
  databaseUrl: string
  backend: QueueBackend
  /** Whether the queue answers: a worker is not stuck while it does not. */
  queueWatch: QueueWatch
  /** This network's part of what the process may hold. */
  room: NetworkRoom
  /** Blocks that are read first. */
  firstWidth: number
  log: Logger
  signal: AbortSignal
  /** What this network's one writer does besides, for as long as it leads. Never rejects. */
  beside: ((signal: AbortSignal) => Promise<void>) | null
}

const STANDBY_POLL_MS = 500
const RESTART_PAUSE_MS = 500
/** A worker that writes nothing for so long, while steps wait in a queue that answers, is replaced. */
const STUCK_MS = 30_000
/** A queue whose Redis is away never closes: it is left behind, and its jobs are void. */
const CLOSE_MS = 5_000

/**
 * Keeps one network indexed until `signal` aborts: waits for the lease that makes this process the network's one writer,
 * then runs one writer session after the other for as long as it holds the lease. A session ends when the order of steps
 * breaks (the queue lost steps, a worker takes nothing); the next one reads again from the position in Postgres. Rejects
 * with a PermanentError when this network can never go on; other networks go on.
 */
export async function runNetwork(run: NetworkRun): Promise<void> {
  const { health, signal } = run
  while (!isAborted(signal)) {
    const lease = await waitForLead(run)
    if (lease === undefined) return
    health.leads = true
    try {
      await runSessions({ ...run, signal: AbortSignal.any([signal, lease.lost]) })
    } finally {
      health.leads = false
      await within(CLOSE_MS, Promise.allSettled([lease.release()]))
    }
    if (isAborted(signal)) return
    health.enter('starting')
    health.fail(
      'lease',
      'database',
      'the lease of the writer was lost: its session ended or was not renewed in time',
    )
    await pause(RESTART_PAUSE_MS, signal)
  }
}

/** Works around TypeScript's narrowing of `signal.aborted`. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}

/** Undefined when `signal` aborted first. */
async function waitForLead(run: NetworkRun): Promise<Lease | undefined> {
  const { db, databaseUrl, health, log, signal } = run
  const name = writerLease(health.network)
  while (!signal.aborted) {
    try {
      const holder = await findHolder(db, name)
      const lease = holder === undefined ? await takeLease(databaseUrl, name) : undefined
      health.clear('lease')
      if (lease !== undefined) {
        health.leader = null
        return lease
      }
      standBy(health, holder ?? null, log)
    } catch (error) {
      health.fail('lease', 'database', `the lease of the writer: ${messageOf(error)}`)
    }
    await pause(STANDBY_POLL_MS, signal)
  }
  return undefined
}

function standBy(health: NetworkHealth, leader: string | null, log: Logger): void {
  // Another candidate took it between the two questions: the next look knows which.
  if (leader === null) return
  if (health.state !== 'standby' || health.leader !== leader)
    log.info({ network: health.network, leader }, `another process leads: ${leader}; standing by`)
  health.leader = leader
  // The leader publishes what is wrong with the network; a standby keeps only what it sees itself.
  health.clear('session', 'reading', 'head', 'writing', 'worker')
  health.enter('standby')
}

/** One writer session after the other, until `signal` aborts (the lease of the writer is lost, or the program stops). */
async function runSessions(run: NetworkRun): Promise<void> {
  const { health, log, signal } = run
  const restarts = new Repeats({ write: (line) => log.warn({ network: health.network }, line) })
  while (!isAborted(signal)) {
    try {
      const reason = await runSession(run)
      if (isAborted(signal)) return
      restarts.note(`reading again from the position in Postgres: ${reason}`)
    } catch (error) {
      if (isAborted(signal)) return
      if (error instanceof PermanentError) throw error
      health.fail('session', kindOf(error), messageOf(error))
    }
    health.counts.restarts += 1
    await pause(RESTART_PAUSE_MS, signal)
  }
}

/** Follows the chain until `signal` aborts or the order of steps breaks. Returns why it ended. */
async function runSession(run: NetworkRun): Promise<string> {
  await checkSource(run)
  const queue = openBatchQueue(run.backend, run.health.network)
  // Jobs of an earlier writer are void. Draining takes as long as reading the first blocks, so both go on side by side.
  const drained = emptyBatchQueue(queue)
  // publishSteps waits for it, and throws what it rejects with.
  drained.catch(() => undefined)
  try {
    return await followThrough({ queue, drained }, run)
  } finally {
    await within(CLOSE_MS, Promise.allSettled([queue.close()]))
  }
}

/** A queue, and when it is empty of what was in it. */
interface DrainedQueue {
  queue: JobQueue
  drained: Promise<void>
}

async function followThrough(through: DrainedQueue, run: NetworkRun): Promise<string> {
  const { source, db, health, log } = run
  const writerEpoch = await raiseWriterEpoch(db, health.network, {
    startNumber: source.startBlock,
    watched: run.watched,
  })
  const resume = await loadResumePoint(run)
  health.indexed = resume.position
  if (health.phase !== 'following')
    log.info({ network: health.network, writerEpoch, from: resume.position?.number ?? null }, 'following')
  health.enter('following')
  health.clear('session')

  const ending = new AbortController()
  const end = (reason: string): void => ending.abort(reason)
  const stop = AbortSignal.any([run.signal, ending.signal])
  const beside = run.beside?.(stop)
  const reason = await pipe(through, run, writerEpoch, resume, stop, end).catch((error: unknown) => {
    if (error instanceof PermanentError) throw error
    health.fail('writing', kindOf(error), messageOf(error))
    return messageOf(error)
  })
  // A node or a database that never answers would keep it for as long as a request may take.
  await within(CLOSE_MS, Promise.resolve(beside))
  return reason
}

/** After the first block was indexed, a failed check is retried: an endpoint is wrong, not the configuration. */
async function checkSource({ source, db, health }: NetworkRun): Promise<void> {
  try {
    await source.check()
  } catch (error) {
    const position = await findPosition(db, health.network)
    if (error instanceof PermanentError && position?.block == null) throw error
    throw new RetryableError(messageOf(error))
  }
}

/** Source -> queue -> worker -> Postgres. Returns why it ended. */
async function pipe(
  { queue, drained }: DrainedQueue,
  run: NetworkRun,
  writerEpoch: number,
  resume: ResumePoint,
  stop: AbortSignal,
  end: (reason: string) => void,
): Promise<string> {
  const { backend, health, source, db, log } = run
  const key: JobKey = { network: health.network, secret: await getQueueKey(db) }
  const deadLetters = new DeadLetterBox(db)
  const inFlight = new InFlight(writerEpoch, run.room)
  const worker = startBatchWorker<Outcome>(backend, key, {
    ingest: (job) => {
      if (job.writerEpoch === writerEpoch) inFlight.begun(job.sequence)
      return ingestStep(db, health, job.writerEpoch, job.step)
    },
    hand: inFlight,
    onElsewhere: () => end('another process writes this network'),
    isRetryable: isDatabaseRetryable,
    onDone: (job, outcome) => onDone(run, writerEpoch, inFlight, job, outcome, end),
    onRetry: (job, error) => {
      health.counts.retries += 1
      health.fail('writing', kindOf(error), `writing ${describe(job.step)}: ${messageOf(error)}`)
    },
    onRefused: keepRefused(run, deadLetters),
    onDead: (dead) => {
      const { error } = dead
      log.error({ network: health.network, error: messageOf(error) }, 'a step became a dead letter')
      keepDeadStep(run, deadLetters, dead)
      if (!stop.aborted) health.fail('writing', 'step', messageOf(error))
      end(`a step could not be written: ${messageOf(error)}`)
    },
    signal: stop,
  })
  const watchdog = setInterval(() => {
    const stuckForMs = Math.min(inFlight.stuckForMs, run.queueWatch.answersForMs)
    if (stuckForMs < STUCK_MS) return
    health.fail('worker', 'worker', 'the queue worker takes nothing although work waits')
    end(`the worker took nothing for ${STUCK_MS} ms while steps were waiting`)
  }, 1000)
  const counting = watchJobs(queue, inFlight, {
    signal: stop,
    onCount: ({ waiting, failed }) => {
      health.queueWaiting = waiting
      health.queueFailed = failed
    },
    onLost: () => end('the queue lost steps that it was given'),
  })
  try {
    const steps = followChain(source, resume, {
      signal: stop,
      isTight: run.room.isTight,
      firstWidth: run.firstWidth,
      onHead: ({ head, finalized }) => {
        health.head = head
        health.finalized = finalized
        health.clear('head')
      },
      onLate: (message) => health.fail('head', 'node', message),
      onProblem: (message) => health.fail('reading', 'node', message),
      onRead: () => {
        health.clear('reading')
        // Nothing is left that could fail: what failed was replaced by a reorg, or written by an earlier session.
        if (inFlight.size === 0 && health.indexed?.hash === health.head?.hash)
          health.clear('writing', 'worker')
      },
    })
    await publishSteps(steps, { queue, key, ready: drained }, writerEpoch, inFlight, {
      signal: stop,
      abort: (reason) => end(String(reason)),
    })
    return typeof stop.reason === 'string' ? stop.reason : 'the source ended'
  } finally {
    end('the source ended')
    clearInterval(watchdog)
    await within(CLOSE_MS, Promise.allSettled([counting, worker.close()]))
    // A worker that is left behind keeps what it was given.
    inFlight.clear()
  }
}

/** Waits for `work`, but not longer than so many milliseconds. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController()
  await Promise.race([work, sleep(ms, undefined, { signal: limit.signal }).catch(() => undefined)])
  limit.abort()
}

function onDone(
  { health, log }: NetworkRun,
  writerEpoch: number,
  inFlight: InFlight,
  job: BatchJob,
  outcome: Outcome,
  end: (reason: string) => void,
): void {
  // A job that an earlier writer left: it was void, and says nothing of this one.
  if (job.writerEpoch !== writerEpoch) return
  inFlight.done(job.sequence)
  if (outcome === 'applied' || outcome === 'seen') health.clear('writing', 'worker')
  log.debug({ network: health.network, outcome, step: describe(job.step) }, 'step')
  switch (outcome) {
    case 'applied':
      countStep(health, job.step)
      return
    case 'seen':
      return
    case 'void':
      return end('another process writes this network')
    case 'future':
    case 'broken':
      return end(`${describe(job.step)} does not continue the position`)
  }
}

function countStep(health: NetworkHealth, step: ChainStep): void {
  health.counts.steps += 1
  if (step.type === 'finalized') return
  health.indexed = step.to
  health.counts.events += step.events.length
  health.counts.undecodable += step.events.filter(
    ({ kind }) => kind === 'Undecodable' || kind === 'UndecodableMessage',
  ).length
  if (step.type === 'reorg') health.counts.reorgs += 1
}

async function loadResumePoint({ db, health, source, watched }: NetworkRun): Promise<ResumePoint> {
  const position = await findPosition(db, health.network)
  if (position === undefined) return { position: null, headers: [], finalized: null }
  if (position.block === null) {
    // Nothing was read yet: a mistake in the configuration may still be mended.
    await putWatched(db, health.network, source.startBlock, watched)
    return { position: null, headers: [], finalized: null }
  }
  if (!sameJson(position.watched, watched)) {
    throw new PermanentError(
      `${health.network} was indexed with ${JSON.stringify(position.watched)}, the configuration now says ${JSON.stringify(watched)}: ` +
        `run \`npm run ops -- reindex --network ${health.network}\` to read it again with the new contracts, then start the indexer again`,
    )
  }
  return {
    position: position.block,
    headers: await getHeaders(db, health.network),
    finalized: position.finalized,
  }
}

type Handling = BatchHandling<Outcome>

/** Refused jobs that may wait for the database before the queue's worker waits for it as well. */
const MOST_REFUSED_WAITING = 1_000

/** A flood of jobs that others made costs the network's own steps no wait for a transaction each. */
function keepRefused({ health, log }: NetworkRun, deadLetters: DeadLetterBox): Handling['onRefused'] {
  return async ({ jobId, data, unread, reason }) => {
    const { network, counts } = health
    counts.refusedJobs += 1
    if (counts.refusedJobs === 1 || counts.refusedJobs % 10_000 === 0)
      log.error({ network, refused: counts.refusedJobs }, `a job became a dead letter: ${reason}`)
    const queue = batchQueueName(network)
    const kept = deadLetters
      .put({ queue, jobId, network, payload: data, unread, reason, isMalformed: true })
      .catch((failure: unknown) => log.warn({ network }, `a dead letter was not kept: ${messageOf(failure)}`))
    if (deadLetters.size >= MOST_REFUSED_WAITING) await kept
  }
}

/** Kept to be looked at; a failure to keep it is only logged. */
function keepDeadStep(
  { health: { network }, log }: NetworkRun,
  deadLetters: DeadLetterBox,
  { jobId, position, step, error }: Parameters<Handling['onDead']>[0],
): void {
  deadLetters
    .put({
      queue: batchQueueName(network),
      jobId,
      network,
      payload: { ...position, step },
      reason: messageOf(error),
    })
    .catch((failure: unknown) => log.warn({ network }, `a dead letter was not kept: ${messageOf(failure)}`))
}

function kindOf(error: unknown): ProblemKind {
  if (isDatabaseRetryable(error)) return 'database'
  return error instanceof RetryableError ? 'node' : 'other'
}

function describe(step: ChainStep): string {
  switch (step.type) {
    case 'blocks':
      return `blocks ${step.from} to ${step.to.number}`
    case 'reorg':
      return `reorg after ${step.ancestor.number} to ${step.to.number} ${step.to.hash}`
    case 'finalized':
      return `finalized ${step.block.number}`
  }
}
