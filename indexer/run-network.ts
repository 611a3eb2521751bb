import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../shared/log.ts'
import type { ChainStep } from '../shared/events/chain-step.ts'
import { messageOf, PermanentError, RetryableError } from '../shared/errors.ts'
import type { Db } from '../shared/db/connect.ts'
import { tryAdvisoryLock, type HeldLock } from '../shared/db/locks.ts'
import { isDatabaseRetryable } from '../shared/db/transaction.ts'
import { findPosition, getHeaders, putWatched, raiseWriterEpoch } from './event-log/chain-position.ts'
import { putDeadLetter } from './ingest/dead-letters.store.ts'
import { ingestStep, type Outcome } from './ingest/ingest-step.ts'
import type { NetworkHealth } from './network-state.ts'
import type { JobQueue, QueueBackend } from './queue/backend.ts'
import { batchJobId, batchQueueName, openBatchQueue, type BatchJob } from './queue/batch-queue.ts'
import { startBatchWorker } from './queue/batch-worker.ts'
import { InFlight, publishSteps } from './queue/publish-steps.ts'
import type { NetworkRoom } from './queue/room.ts'
import { watchJobs } from './queue/watch-jobs.ts'
import type { ChainSource, ResumePoint } from './sources/chain-source.ts'
import { followChain } from './sources/follow-chain.ts'
import { sameJson } from './watched-networks.ts'

export interface NetworkRun {
  source: ChainSource
  health: NetworkHealth
  /** What is watched: an index made of other contracts is another index. */
  watched: unknown
  db: Db
  databaseUrl: string
  backend: QueueBackend
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
/** A worker that writes nothing for so long while steps wait is replaced. */
const STUCK_MS = 30_000
/** A queue whose Redis is away never closes: then it is left behind, and its jobs are void. So is work beside the writer. */
const CLOSE_MS = 5_000

/**
 * Keeps one network indexed until `signal` aborts: waits for the lock that makes this process the network's one
 * writer, then follows the chain. Whatever breaks the order of steps (a lost queue, a lost lock, a worker that
 * takes nothing) ends in reading again from the position in Postgres. Rejects with a PermanentError when this
 * network can never go on; other networks do not care.
 */
export async function runNetwork(run: NetworkRun): Promise<void> {
  while (!run.signal.aborted) {
    try {
      const lock = await waitForLead(run)
      if (lock === undefined) return // stopped
      run.health.leads = true
      try {
        await lead(run, lock)
      } finally {
        run.health.leads = false
        await lock.release().catch(() => undefined)
      }
    } catch (error) {
      if (isAborted(run.signal)) return
      if (error instanceof PermanentError) throw error
      reportProblem(run, messageOf(error))
    }
    await sleep(RESTART_PAUSE_MS, undefined, { signal: run.signal }).catch(() => undefined)
  }
}

/** A function, for the compiler takes a flag that it saw once for one that never changes. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}

async function waitForLead({ databaseUrl, health, log, signal }: NetworkRun): Promise<HeldLock | undefined> {
  while (!signal.aborted) {
    const lock = await tryAdvisoryLock(databaseUrl, `writer of ${health.network}`)
    if (lock !== undefined) return lock
    if (health.state !== 'standby')
      log.info({ network: health.network }, 'another process leads: standing by')
    health.become('standby', health.problem)
    await sleep(STANDBY_POLL_MS, undefined, { signal }).catch(() => undefined)
  }
  return undefined
}

/** Follows the chain as its one writer, until the lock is lost, `signal` aborts or the order of steps breaks. */
async function lead(run: NetworkRun, lock: HeldLock): Promise<void> {
  await checkSource(run)
  const queue = openBatchQueue(run.backend, run.health.network)
  // What an earlier writer left behind is void, and would be read again anyway. To open a queue takes as long as to read the first blocks.
  const drained = within(CLOSE_MS, queue.drain(true))
  // Whoever waits for it hears of it.
  drained.catch(() => undefined)
  try {
    await leadThrough({ queue, drained }, run, lock)
  } finally {
    await within(CLOSE_MS, Promise.allSettled([queue.close()]))
  }
}

/** A queue, and when it is empty of what was in it. */
interface DrainedQueue {
  queue: JobQueue
  drained: Promise<void>
}

async function leadThrough(through: DrainedQueue, run: NetworkRun, lock: HeldLock): Promise<void> {
  const { source, db, health, log } = run
  const writerEpoch = await raiseWriterEpoch(db, health.network, {
    startNumber: source.startBlock,
    watched: run.watched,
  })
  const resume = await loadResumePoint(run)
  health.indexed = resume.position
  health.become('following', null)
  log.info({ network: health.network, writerEpoch, from: resume.position?.number ?? null }, 'following')

  const ending = new AbortController()
  const end = (reason: string): void => ending.abort(reason)
  const stop = AbortSignal.any([run.signal, ending.signal])
  void lock.lost.then(() => {
    health.leads = false
    end('the writer’s lock was lost')
  })
  const beside = run.beside?.(stop)
  const reason = await pipe(through, run, writerEpoch, resume, stop, end)
  // A node, or a database, that answers nothing would keep it for as long as a request may take.
  await within(CLOSE_MS, Promise.resolve(beside))
  if (run.signal.aborted) return
  health.counts.restarts += 1
  log.warn({ network: health.network, writerEpoch, reason }, 'reading again from the position in Postgres')
}

/** What was there when blocks were read cannot be wrong for good: then an endpoint is, or the configuration was changed. */
async function checkSource({ source, db, health }: NetworkRun): Promise<void> {
  try {
    await source.check()
  } catch (error) {
    const position = await findPosition(db, health.network)
    if (error instanceof PermanentError && position?.block != null) throw new RetryableError(error.message)
    throw error
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
  const inFlight = new InFlight(writerEpoch, run.room)
  const worker = startBatchWorker<Outcome>(backend, health.network, {
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
      reportProblem(run, `writing ${describe(job.step)}: ${messageOf(error)}`)
    },
    onDead: (job, error) => {
      if (job !== undefined && job.writerEpoch !== writerEpoch) return
      log.error({ network: health.network, error: messageOf(error) }, 'a step became a dead letter')
      keepDeadStep(run, job, error)
      if (!stop.aborted) reportProblem(run, messageOf(error))
      end(`a step could not be written: ${messageOf(error)}`)
    },
    signal: stop,
  })
  const watchdog = setInterval(() => {
    health.workerHealthy = inFlight.stuckForMs < STUCK_MS
    if (!health.workerHealthy) end(`the worker took nothing for ${STUCK_MS} ms while steps were waiting`)
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
        if (health.state === 'retrying') recovered(run)
      },
      onProblem: (message) => reportProblem(run, message),
    })
    await publishSteps(steps, { queue, ready: drained }, writerEpoch, inFlight, {
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
  health.workerHealthy = true
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

/** Kept to be looked at; that it cannot be kept is no further harm. */
function keepDeadStep({ db, health, log }: NetworkRun, job: BatchJob | undefined, error: unknown): void {
  putDeadLetter(db, {
    queue: batchQueueName(health.network),
    jobId: job === undefined ? null : batchJobId(job),
    network: health.network,
    payload: job ?? null,
    reason: messageOf(error),
  }).catch((failure: unknown) =>
    log.warn({ network: health.network }, `a dead letter was not kept: ${messageOf(failure)}`),
  )
}

function reportProblem({ health, log }: NetworkRun, message: string): void {
  if (health.problem !== message) log.warn({ network: health.network }, message)
  health.become('retrying', message)
}

function recovered({ health, log }: NetworkRun): void {
  health.become('following', null)
  log.info({ network: health.network }, 'following again')
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
