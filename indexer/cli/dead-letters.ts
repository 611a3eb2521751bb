import { loadEnvironment } from '../../shared/config/config.ts'
import type { Db } from '../../shared/db/connect.ts'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import {
  countDeadLetters,
  dropDeadLetters,
  findDeadLetter,
  getDeadLetters,
  getDeadLettersAfter,
  hasQueueInPostgres,
  type DeadLetter,
} from '../ingest/dead-letters.store.ts'
import { openQueueBackend } from '../open-queue-backend.ts'
import { retryDeadJob, whyNotRetried } from '../queue/dead-letters.ts'
import { openVoucherQueue } from '../queue/voucher-queue.ts'
import { sendAgain } from '../webhooks/outbox.store.ts'
import { print, withDatabase, type OutputOptions } from './context.ts'
import { countOf } from './count-of.ts'

export type Chosen = number[] | 'all'

const CHUNK = 100
const WRITES = { writes: true }
const NONE = 'there is none of this id'

/** Prints the newest dead letters without their payloads. */
export async function runListDeadLetters(
  options: OutputOptions & { queue?: string; limit: number },
): Promise<void> {
  await withDatabase(async ({ db }) => {
    const letters = await getDeadLetters(db, { queue: options.queue, limit: options.limit })
    const counts = await countDeadLetters(db)
    const lines = letters.map(
      ({ id, queue, network, refused_at: at, attempts, reason }) =>
        `${id}  ${at.toISOString()}  ${queue}  ${network ?? '-'}  ${countOf(attempts, 'try', 'tries')}\n    ${reason}`,
    )
    const total = counts.map(({ queue, count }) => `${count} in ${queue}`).join(', ')
    print(
      options,
      { counts, deadLetters: letters.map(toJson) },
      [...lines, total || 'no dead letters'].join('\n'),
    )
  })
}

/** Prints one dead letter with its payload. Sets exit code 1 when the id does not exist. */
export async function runShowDeadLetter(id: number, options: OutputOptions): Promise<void> {
  await withDatabase(async ({ db }) => {
    const letter = await findDeadLetter(db, id)
    if (letter === undefined) {
      console.error(`there is no dead letter ${id}`)
      process.exitCode = 1
    } else print(options, { ...toJson(letter), payload: letter.payload }, describe(letter))
  })
}

/** Names as in all other JSON of ours. */
function toJson(letter: Omit<DeadLetter, 'payload'>): Record<string, unknown> {
  return {
    ...{ id: letter.id, queue: letter.queue, jobId: letter.job_id, digest: letter.digest },
    ...{ network: letter.network, payloadBytes: letter.payload_bytes, isCut: letter.is_cut },
    ...{ reason: letter.reason, refusedAt: letter.refused_at, attempts: letter.attempts },
  }
}

function describe(letter: DeadLetter): string {
  const { payload, is_cut: isCut, payload_bytes: bytes, ...rest } = letter
  const lines = [
    ['id', rest.id],
    ['queue', rest.queue],
    ['job', rest.job_id ?? '-'],
    ['network', rest.network ?? '-'],
    ['refused', `${rest.refused_at.toISOString()}, ${countOf(rest.attempts, 'try', 'tries')}`],
    ['reason', rest.reason],
    ['payload', `${bytes} bytes${isCut ? ', of which this is the beginning' : ''}`],
  ]
  return `${lines.map(([name, value]) => `${name}: ${value ?? ''}`).join('\n')}\n${JSON.stringify(payload, null, 2)}`
}

/**
 * Queues dead letters again through the voucher queue, which removes each once it is accepted. Those of a webhook go back
 * to its outbox. Sets exit code 1 when a named one cannot be retried or does not exist, or when interrupted. Throws a ConfigError without REDIS_URL unless
 * Postgres holds a queue.
 */
export async function runRetryDeadLetters(chosen: Chosen, options: OutputOptions): Promise<void> {
  await withDatabase(async ({ db, databaseUrl, signal }) => {
    const { REDIS_URL: redisUrl } = loadEnvironment()
    // Otherwise no worker would take the jobs, although the command reported success.
    if (redisUrl === undefined && !(await hasQueueInPostgres(db))) {
      throw new ConfigError(
        'REDIS_URL is not set, and no indexer has a queue in this database: set it as the indexers have it, or start one without a Redis first',
      )
    }
    const backend = openQueueBackend({ redisUrl, databaseUrl }, (error) => console.error(messageOf(error)))
    await backend.check()
    const queue = openVoucherQueue(backend)
    const left: { id: number; reason: string }[] = []
    let retried = 0
    try {
      for await (const letter of choose(db, chosen)) {
        if (signal.aborted) break
        const reason = 'missing' in letter ? NONE : whyNotRetried(toKept(letter))
        if (reason !== null || 'missing' in letter) {
          left.push({ id: letter.id, reason: reason ?? '' })
          continue
        }
        if (!(await sendAgain(db, letter))) await retryDeadJob(queue, toKept(letter))
        retried += 1
      }
    } finally {
      await queue.close()
      backend.close()
    }
    tellRetried({ retried, left, finished: !signal.aborted }, options)
    if (signal.aborted || (chosen !== 'all' && left.length > 0)) process.exitCode = 1
  }, WRITES)
}

function tellRetried(
  result: { retried: number; left: { id: number; reason: string }[]; finished: boolean },
  options: OutputOptions,
): void {
  const { retried, left, finished } = result
  const sum = `${retried} handed in again, ${left.length} left as they are${finished ? '' : ' (interrupted)'}`
  print(options, result, [...left.map(({ id, reason }) => `${id}: ${reason}`), sum].join('\n'))
}

function toKept({
  id,
  queue,
  payload,
  is_cut: isCut,
  attempts,
}: DeadLetter): Parameters<typeof whyNotRetried>[0] {
  return { id, queue, payload, isCut, attempts }
}

async function* choose(db: Db, chosen: Chosen): AsyncGenerator<DeadLetter | { missing: true; id: number }> {
  if (chosen !== 'all') {
    for (const id of chosen) yield (await findDeadLetter(db, id)) ?? { missing: true, id }
    return
  }
  for (let after = 0; ;) {
    const letters = await getDeadLettersAfter(db, after, CHUNK)
    yield* letters
    const last = letters.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

/** Deletes dead letters. Sets exit code 1 when a named one does not exist. */
export async function runDropDeadLetters(chosen: Chosen, options: OutputOptions): Promise<void> {
  await withDatabase(async ({ db }) => {
    const left: { id: number; reason: string }[] = []
    let dropped = 0
    if (chosen === 'all') dropped = await dropDeadLetters(db, null)
    else {
      for (const id of new Set(chosen)) {
        const count = await dropDeadLetters(db, [id])
        dropped += count
        if (count === 0) left.push({ id, reason: NONE })
      }
    }
    const lines = left.map(({ id, reason }) => `${id}: ${reason}`)
    print(options, { dropped, left }, [...lines, `${dropped} dropped`].join('\n'))
    if (left.length > 0) process.exitCode = 1
  }, WRITES)
}
