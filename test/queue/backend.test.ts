import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import type { ClientConfig } from 'pg'
import t from 'tap'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import type { JobQueue } from '../../indexer/queue/backend.ts'
import { queueOnPostgres } from '../../indexer/queue/backend-on-postgres.ts'
import { MAX_PAYLOAD } from '../../indexer/queue/envelope.ts'
import { encodeStep } from '../../indexer/queue/join-steps.ts'
import { jobsOf } from '../../indexer/queue/step-jobs.ts'
import { addJob, openStepQueue, stepQueueName } from '../../indexer/queue/step-queue.ts'
import { startStepWorker, type StepHandling } from '../../indexer/queue/step-worker.ts'
import { connect } from '../../shared/db/connect.ts'
import { jsonParsedBy } from '../../shared/db/json-types.ts'
import { openQueuePool, QueueClient } from '../../shared/db/queue-client.ts'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { testDatabase } from '../helpers/database.ts'
import { jobKey } from '../helpers/job-key.ts'
import { queueKinds } from '../helpers/queue-kinds.ts'
import { RandomChain } from '../helpers/random-chain.ts'
import { testRedis } from '../helpers/redis.ts'
import { untrustyLink } from '../helpers/untrusty-link.ts'

const finalized = (number: number): ChainStep => ({
  type: 'finalized',
  block: { number, hash: `0x${number}` },
})
type Test = Parameters<typeof testDatabase>[0]

/** Adds a job of a small step; its id. */
async function put(queue: JobQueue, network: string, sequence: number): Promise<string> {
  const [job] = await jobsOf({ readerEpoch: 1, sequence }, encodeStep(finalized(sequence)))
  if (job === undefined) throw new Error('no job')
  return addJob(queue, jobKey(network), job)
}

for (const kind of queueKinds) {
  void t.test(`on ${kind}`, async (t) => {
    const { url: databaseUrl, db } = await testDatabase(t)
    const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
    if (redisUrl === null) return
    const open = (t: Test): ReturnType<typeof openQueueBackend> => {
      const backend = openQueueBackend({ redisUrl, databaseUrl }, (error) => t.comment(error.message))
      t.teardown(() => backend.close())
      return backend
    }

    await t.test('steps arrive once and in order, are told of, and leave nothing behind', async (t) => {
      const backend = open(t)
      t.equal(backend.kind, kind)
      t.same(await backend.check(), [])
      const queue = openStepQueue(backend, 'evm:1')
      const told: unknown[] = []
      const events = backend.openEvents(stepQueueName('evm:1'), {
        onCompleted: (jobId, result) => told.push([jobId, result]),
        onFailed: (jobId) => told.push(['failed', jobId]),
      })
      const seen: number[] = []
      const stop = new AbortController()
      const ids: string[] = []
      for (let number = 1; number <= 40; number += 1) ids.push(await put(queue, 'evm:1', number))
      const worker = startStepWorker<string>(backend, jobKey('evm:1'), {
        ...quiet(stop.signal),
        ingest: ({ sequence, step }) => {
          t.same(step, finalized(sequence))
          seen.push(sequence)
          return Promise.resolve('applied')
        },
      })
      await waitFor(
        () => Promise.resolve(seen.length),
        (count) => count === 40,
      )
      t.same(
        seen,
        ids.map((_, index) => index + 1),
      )
      // Those before it listened are lost; the last ones are not.
      await waitFor(
        () => Promise.resolve(told.at(-1)),
        (last) => Array.isArray(last) && last[0] === ids.at(-1),
      )
      t.same(told.at(-1), [ids.at(-1), 'applied'])
      const counts = await waitFor(
        () => queue.getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed'),
        (c) => c['active'] === 0,
      )
      t.same(counts, { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0 })
      await Promise.all([worker.close(), events.close(), queue.close()])
    })

    await t.test('a look at a job shows its records', async (t) => {
      const queue = openStepQueue(open(t), 'evm:7')
      const step = new RandomChain(1).grow(4)
      const [small] = await jobsOf({ readerEpoch: 1, sequence: 1 }, encodeStep(step))
      const [large] = await jobsOf({ readerEpoch: 1, sequence: 2 }, encodeStep(new RandomChain(2).grow(200)))
      if (small === undefined || large === undefined) throw new Error('a job of each')
      const ids = [await addJob(queue, jobKey('evm:7'), small), await addJob(queue, jobKey('evm:7'), large)]
      const look = async (id: string): Promise<{ step?: unknown; summary: unknown }> => {
        const name = stepQueueName('evm:7')
        if (redisUrl !== undefined) {
          const redis = new Redis(redisUrl)
          const data = await redis
            .hget(`loan-activity:${name}:${id}`, 'data')
            .finally(() => redis.disconnect())
          return JSON.parse(data ?? 'null') as { summary: unknown }
        }
        const { rows } = await sql<{ data: { summary: unknown } }>`
          select data from queue.job where queue = ${name} and id = ${id}`.execute(db)
        return rows[0]?.data ?? { summary: null }
      }
      const [first, second] = [await look(ids[0] ?? ''), await look(ids[1] ?? '')]
      t.same(first.step, step)
      t.ok(JSON.stringify(first).includes('"kind":"CreateLoanOffer"'))
      t.match(second, { summary: { type: 'blocks', from: 1, to: 200, events: { Withdraw: Number } } })
      await queue.close()
    })

    await t.test('a step of several jobs is written as one', async (t) => {
      const backend = open(t)
      const queue = openStepQueue(backend, 'evm:8')
      const grown = new RandomChain(1).grow(30)
      const text = randomBytes(MAX_PAYLOAD).toString('hex')
      const events = grown.events.map((event) =>
        event.kind === 'Undecodable' ? { ...event, dataHead: text } : event,
      )
      const step = { ...grown, events }
      const jobs = await jobsOf({ readerEpoch: 1, sequence: 1 }, encodeStep(step))
      t.ok(jobs.length > 1, `${jobs.length} jobs`)
      // A reader died before the last part of another step.
      const left = jobs.map((job) => ({ ...job, sequence: 2 })).slice(0, -1)
      const wrote: unknown[] = []
      const results: unknown[] = []
      const listening = backend.openEvents(stepQueueName('evm:8'), {
        onCompleted: (_, result) => results.push(result),
        onFailed: (_, reason) => results.push(reason),
      })
      const stop = new AbortController()
      const failing = jobs.map((job) => ({ ...job, sequence: 3 }))
      const failed: unknown[] = []
      for (const job of [...left, ...failing, ...jobs]) await addJob(queue, jobKey('evm:8'), job)
      const worker = startStepWorker<string>(backend, jobKey('evm:8'), {
        ...quiet(stop.signal),
        ingest: ({ sequence, step: written }) => {
          if (sequence === 3) return Promise.reject(new Error('never'))
          wrote.push([sequence, written])
          return Promise.resolve('applied')
        },
        onFailed: ({ error, isLast }) => failed.push([String(error), isLast]),
      })
      await waitFor(
        () => Promise.resolve(results.at(-1)),
        (last) => last === 'applied',
      )
      t.same(wrote, [[1, JSON.parse(JSON.stringify(step))]])
      t.ok(results.includes('never'))
      t.same(failed, [['Error: never', true]], 'its first part is gone: no later attempt could write it')
      await Promise.all([worker.close(), listening.close(), queue.close()])
    })

    await t.test(
      'what cannot be written now is tried again in place; what never can is a dead letter',
      async (t) => {
        const backend = open(t)
        const queue = openStepQueue(backend, 'evm:2')
        const stop = new AbortController()
        const done: number[] = []
        const failed: [string, boolean][] = []
        const told: string[] = []
        let failures = 2
        let tries = 0
        const refused: string[] = []
        const events = backend.openEvents(stepQueueName('evm:2'), {
          onCompleted: () => undefined,
          onFailed: (_, reason) => told.push(reason),
        })
        const worker = startStepWorker<string>(backend, jobKey('evm:2'), {
          ...quiet(stop.signal),
          onRefused: ({ reason }) => Promise.resolve(void refused.push(reason)),
          ingest: ({ sequence }) => {
            if (sequence === 1 && failures > 0) {
              failures -= 1
              return Promise.reject(new Error('not now'))
            }
            if (sequence !== 2) return Promise.resolve('applied')
            tries += 1
            return Promise.reject(new Error('never'))
          },
          isRetryable: (error) => error instanceof Error && error.message === 'not now',
          onDone: ({ sequence }) => done.push(sequence),
          onFailed: ({ error, isLast }) => failed.push([String(error), isLast]),
        })
        for (const sequence of [1, 2, 3]) await put(queue, 'evm:2', sequence)
        const empty = { readerEpoch: 1, sequence: 4, part: 1, parts: 1, payload: 'AAAA' }
        const summary = { type: 'blocks', from: 1, to: 1, events: {} }
        await addJob(queue, jobKey('evm:2'), { ...empty, summary })
        await queue.add('garbage', { nothing: true }, {})
        await waitFor(
          () => Promise.resolve(told.length),
          (count) => count === 2,
        )
        t.same(done, [1, 3])
        t.equal(tries, 3, 'BullMQ tries it again')
        t.match(failed.sort(), [
          ['Error: never', false],
          ['Error: never', false],
          ['Error: never', true],
          [/a step cannot be unpacked/, true],
        ])
        t.match(refused, [/not a job of this service/])
        const counts = await waitFor(
          () => queue.getJobCounts('failed', 'completed', 'active'),
          (c) => c['failed'] === 2 && c['active'] === 0,
        )
        t.same(counts, { failed: 2, completed: 0, active: 0 }, 'a forged job leaves nothing in the queue')
        await Promise.all([worker.close(), events.close(), queue.close()])
      },
    )

    await t.test('a writer that stops or is replaced leaves its step to the next one', async (t) => {
      const backend = open(t)
      const closed = 'when its database is closed'
      for (const moment of ['while it waits', 'while it writes', closed, 'when it is replaced'] as const) {
        const queue = openStepQueue(backend, 'evm:3')
        const stop = new AbortController()
        let tries = 0
        const first = startStepWorker<string>(backend, jobKey('evm:3'), {
          ...quiet(stop.signal),
          ingest: () => {
            tries += 1
            if (moment === 'when it is replaced') return Promise.resolve('void')
            if (moment === 'while it writes' || moment === closed) stop.abort()
            return Promise.reject(new Error('not now'))
          },
          isSuperseded: (outcome) => outcome === 'void',
          isRetryable: () => moment !== closed,
          onRetry: () => stop.abort(),
          onDone: () => t.fail('nothing was written'),
          onFailed: ({ error }) => t.fail(String(error)),
        })
        await put(queue, 'evm:3', 1)
        const counts = await waitFor(
          () => queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
          (c) => tries === 1 && c['active'] === 0 && c['waiting'] === 1,
        )
        t.same(counts, { waiting: 1, active: 0, delayed: 0, failed: 0 }, moment)
        await first.close()
        t.equal(tries, 1, 'and does not take it again')
        const done: number[] = []
        const second = startStepWorker<string>(backend, jobKey('evm:3'), {
          ...quiet(new AbortController().signal),
          onDone: ({ sequence }) => done.push(sequence),
        })
        await waitFor(
          () => Promise.resolve(done.length),
          (count) => count > 0,
        )
        t.same(done, [1], moment)
        await second.close()
        await queue.close()
      }
    })

    await t.test(
      'events that others made up end no process, and true ones are heard after them',
      async (t) => {
        const backend = open(t)
        const queue = openStepQueue(backend, 'evm:4')
        const name = stepQueueName('evm:4')
        const told: unknown[] = []
        const events = backend.openEvents(name, {
          onCompleted: (_, result) => told.push(result),
          onFailed: () => undefined,
        })
        const forge = async (result: string): Promise<void> => {
          if (redisUrl === undefined) {
            await sql`insert into queue.event (queue, event, data, created_at_ms)
            values (${name}, 'completed', ${JSON.stringify({ jobId: 'x', returnvalue: result })}, 0)`.execute(
              db,
            )
            return
          }
          const redis = new Redis(redisUrl)
          const fields = ['event', 'completed', 'jobId', 'x', 'returnvalue', result]
          await redis.xadd(`loan-activity:${name}:events`, '*', ...fields).finally(() => redis.disconnect())
        }
        const stop = new AbortController()
        const worker = startStepWorker<string>(backend, jobKey('evm:4'), quiet(stop.signal))
        for (const result of ['no JSON', `"${'x'.repeat(20_000_000)}"`, '['.repeat(100_000)])
          await forge(result)
        for (let sequence = 1; !told.includes('applied') && sequence < 100; sequence += 1) {
          await put(queue, 'evm:4', sequence)
          await sleep(100)
        }
        t.same(new Set(told.filter((result) => result === 'applied')).size, 1)
        t.notOk(told.some((result) => typeof result === 'string' && result.length > 10_000))
        await Promise.all([worker.close(), events.close(), queue.close()])
      },
    )
  })
}

void t.test('sessions that end at any moment end no process', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  // Opening makes BullMQ's tables, in a transaction of several statements, between which it hears of nothing.
  const backend = openQueueBackend({ redisUrl: undefined, databaseUrl }, () => undefined)
  const openings = new AbortController()
  const killed = (async () => {
    let ended = 0
    while (!openings.signal.aborted) {
      const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`.execute(db)
      ended += rows.length
    }
    return ended
  })()
  const closed: Promise<unknown>[] = []
  for (let opening = 0; opening < 100; opening += 1) {
    const queue = openStepQueue(backend, `evm:${opening}`)
    const added = put(queue, `evm:${opening}`, 1)
    await Promise.race([added.catch(() => undefined), sleep(50)])
    closed.push(queue.close().catch(() => undefined))
  }
  openings.abort()
  t.ok((await killed) > 50, 'sessions were ended')
  await Promise.all(closed)
})

void t.test('a server that ends the session of a listener while that closes ends no process', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const backend = openQueueBackend({ redisUrl: undefined, databaseUrl }, () => undefined)
  const events = backend.openEvents('closing', { onCompleted: () => undefined, onFailed: () => undefined })
  const listening = async (): Promise<number[]> => {
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query ilike '%listen bullmq_events%'`.execute(
      db,
    )
    return rows.map(({ pid }) => pid)
  }
  const [pid] = await waitFor(listening, (pids) => pids.length === 1)
  if (pid === undefined) throw new Error('nobody listens')
  // The frozen session ends before it reads that its client closes it.
  process.kill(pid, 'SIGSTOP')
  await sql`select pg_terminate_backend(${pid})`.execute(db)
  const closed = events.close()
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  process.kill(pid, 'SIGCONT')
  await closed
  t.same(await waitFor(listening, (pids) => pids.length === 0), [])
})

void t.test('a session that ends while BullMQ makes its connection ready is opened again', async (t) => {
  const { url } = await testDatabase(t)
  let left = 6
  class Dying extends QueueClient {
    constructor(config?: ClientConfig) {
      const socket = new Socket()
      super({ ...config, stream: () => socket })
      // As soon as it is there, before BullMQ has said a word on it.
      this.once('connect', () => {
        left -= 1
        if (left >= 0) socket.destroy()
      })
    }
  }
  const told: string[] = []
  const backend = queueOnPostgres(
    url,
    { Client: Dying, openPool: openQueuePool, jsonParsedBy },
    ({ message }) => told.push(message),
  )
  let handled: (data: unknown) => void
  const worked = new Promise<unknown>((resolve) => (handled = resolve))
  const worker = backend.openWorker(
    'opened-again',
    ({ data }) => {
      handled(data)
      return Promise.resolve()
    },
    { mostCharacters: 1_000 },
  )
  const queue = backend.openQueue('opened-again')
  const add = (): Promise<boolean> =>
    queue.add('job', { it: 'works' }, {}).then(
      () => true,
      () => false,
    )
  await waitFor(add, (added) => added)
  t.same(await worked, { it: 'works' })
  t.ok(left < 0, 'all the sessions that were to end did')
  t.ok(told.length > 0 && told.length < 50, `it was told ${told.length} times`)
  await worker.close()
  await queue.close()
  await t.rejects(queue.add('job', {}, {}), /was closed/, 'and nothing is opened after that')
  const [neverUsed, closing] = [backend.openQueue('never-used'), backend.openQueue('closing')]
  await neverUsed.close()
  await t.rejects(neverUsed.add('job', {}, {}), /was closed/)
  const added = closing.add('job', {}, {}).catch(() => undefined)
  await closing.close()
  await Promise.race([added, sleep(1_000)])
})

void t.test('a server that refuses is not asked again at once', async (t) => {
  const { url, serverUrl } = await testDatabase(t)
  const server = connect(serverUrl, { name: 'test admin', max: 1 })
  const told: string[] = []
  const backend = openQueueBackend({ redisUrl: undefined, databaseUrl: url }, ({ message }) =>
    told.push(message),
  )
  let took: (data: unknown) => void
  let finish = (): void => undefined
  const first = new Promise<unknown>((resolve) => (took = resolve))
  const refused = new Promise<void>((resolve) => (finish = resolve))
  const worker = backend.openWorker(
    'refused',
    async ({ data }) => {
      took(data)
      await refused
    },
    { mostCharacters: 1_000 },
  )
  const queue = backend.openQueue('refused')
  await queue.add('job', 'first', {})
  t.equal(await first, 'first')
  const again = new Promise<unknown>((resolve) => (took = resolve))
  const name = new URL(url).pathname.slice(1)
  await sql`alter database ${sql.id(name)} allow_connections false`.execute(server)
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`.execute(server)
  const before = told.length
  // A worker that has just worked asks for more without waiting to be told of any.
  finish()
  await sleep(3_000)
  t.ok(told.length - before < 40, `it was told ${told.length - before} times`)
  await sql`alter database ${sql.id(name)} allow_connections true`.execute(server)
  const add = (): Promise<boolean> =>
    queue.add('job', 'second', {}).then(
      () => true,
      () => false,
    )
  await waitFor(add, (added) => added)
  t.equal(await again, 'second')
  await worker.close()
  await queue.close()
  await server.destroy()
})

for (const kind of queueKinds) {
  void t.test(`a ${kind} that refused connections for a while is asked again soon after`, async (t) => {
    const { url: databaseUrl } = await testDatabase(t)
    const serverUrl = kind === 'redis' ? await testRedis(t) : databaseUrl
    if (serverUrl === null) return
    const link = await untrustyLink(t, serverUrl)
    const urls =
      kind === 'redis' ? { redisUrl: link.url, databaseUrl } : { redisUrl: undefined, databaseUrl: link.url }
    const backend = openQueueBackend(urls, () => undefined)
    const took: unknown[] = []
    let finish = (): void => undefined
    const finished = new Promise<void>((resolve) => (finish = resolve))
    const worker = backend.openWorker('away', ({ data }) => (took.push(data), finished), {
      mostCharacters: 1_000,
    })
    const direct = openQueueBackend(
      { ...urls, ...(kind === 'redis' ? { redisUrl: serverUrl } : { databaseUrl }) },
      () => undefined,
    )
    const queue = direct.openQueue('away')
    await queue.add('job', 'before', {})
    await waitFor(
      () => Promise.resolve(took.length),
      (count) => count === 1,
    )
    await link.cut()
    // A worker that has just worked says so, and asks for more, without waiting to be told of any.
    finish()
    await sleep(2_000)
    await queue.add('job', 'meanwhile', {})
    await link.mend()
    const back = Date.now()
    await waitFor(
      () => Promise.resolve(took.length),
      (count) => count === 2,
    )
    t.same(took, ['before', 'meanwhile'])
    // BullMQ's own pause after a refusal is 15 s; a server that is back is noticed by its connections in one or two.
    t.ok(Date.now() - back < 14_000, `taken after ${Date.now() - back} ms`)
    await worker.close()
    await queue.close()
    backend.close()
    direct.close()
  })
}

void t.test('a Redis that is not there ends in one clear line', async (t) => {
  const backend = openQueueBackend(
    { redisUrl: 'redis://127.0.0.1:1', databaseUrl: 'postgres://x' },
    () => undefined,
  )
  await t.rejects(backend.check(), /REDIS_URL: 127\.0\.0\.1:1 cannot be reached/)
  backend.close()
})

function quiet(signal: AbortSignal): StepHandling<string> {
  return {
    ingest: () => Promise.resolve('applied'),
    isSuperseded: () => false,
    isRetryable: () => false,
    onTaken: () => undefined,
    onDone: () => undefined,
    onRetry: () => undefined,
    onFailed: () => undefined,
    onRefused: () => Promise.resolve(),
    signal,
  }
}

async function waitFor<T>(read: () => Promise<T>, good: (value: T) => boolean): Promise<T> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    const value = await read()
    if (good(value)) return value
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return read()
}
