import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { ClientConfig } from 'pg'
import t from 'tap'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { addBatch, openBatchQueue, packStep, type StepsInHand } from '../../indexer/queue/batch-queue.ts'
import { queueOnPostgres, type JobQueue, type JobWorker } from '../../indexer/queue/backend.ts'
import { startBatchWorker, type BatchHandling } from '../../indexer/queue/batch-worker.ts'
import type { JobPosition } from '../../indexer/queue/envelope.ts'
import { InFlight, publishSteps } from '../../indexer/queue/publish-steps.ts'
import { Room, weightOf } from '../../indexer/queue/room.ts'
import { watchJobs } from '../../indexer/queue/watch-jobs.ts'
import { connect } from '../../shared/db/connect.ts'
import { jsonParsedBy } from '../../shared/db/json-types.ts'
import { QueueClient } from '../../shared/db/queue-client.ts'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { BlocksStep, ChainStep } from '../../shared/events/chain-step.ts'
import { untilAborted } from '../../shared/until-aborted.ts'
import { testDatabase } from '../helpers/database.ts'
import { jobKey } from '../helpers/job-key.ts'
import { RandomChain } from '../helpers/random-chain.ts'
import { testRedis } from '../helpers/redis.ts'
import { untrustyLink } from '../helpers/untrusty-link.ts'

const finalized = (number: number): ChainStep => ({
  type: 'finalized',
  block: { number, hash: `0x${number}` },
})
type Test = Parameters<typeof testDatabase>[0]

for (const kind of ['postgres', 'redis'] as const) {
  void t.test(`on ${kind}`, async (t) => {
    const { url: databaseUrl } = await testDatabase(t)
    const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
    if (redisUrl === null) return
    const open = (t: Test): ReturnType<typeof openQueueBackend> => {
      const backend = openQueueBackend({ redisUrl, databaseUrl }, (error) => t.comment(error.message))
      t.teardown(() => backend.close())
      return backend
    }

    await t.test('steps arrive once and in order, and leave nothing behind', async (t) => {
      const backend = open(t)
      t.equal(backend.kind, kind)
      t.same(await backend.check(), [])
      const queue = openBatchQueue(backend, 'evm:1')
      const inFlight = new InFlight(1)
      const seen: number[] = []
      let most = 0
      const stop = new AbortController()
      const worker = startBatchWorker<string>(backend, jobKey('evm:1'), {
        ...quiet(stop.signal, inFlight),
        ingest: async ({ sequence }) => {
          inFlight.begun(sequence)
          // What is being written takes no room from what waits: the source goes on while the database works.
          if (sequence === 1)
            await waitFor(
              () => Promise.resolve(inFlight.size),
              (size) => size >= 3,
            )
          most = Math.max(most, inFlight.size)
          seen.push(sequence)
          return 'applied'
        },
        onDone: ({ sequence }) => inFlight.done(sequence),
      })
      const steps = async function* (): AsyncGenerator<ChainStep> {
        for (let number = 1; number <= 40; number += 1) yield await Promise.resolve(finalized(number))
      }
      await publishSteps(
        steps(),
        { queue, key: jobKey('evm:1'), ready: Promise.resolve() },
        1,
        inFlight,
        stop,
      )
      await inFlight.untilNone(AbortSignal.timeout(20_000))
      t.same(
        seen,
        Array.from({ length: 40 }, (_, index) => index + 1),
      )
      t.equal(most, 3, 'the source waited for the worker, and only for it')
      const counts = await waitFor(
        () => queue.getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed'),
        (c) => c['active'] === 0,
      )
      t.same(counts, { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0 })
      await worker.close()
      await queue.close()
    })

    await t.test('what is read before the queue is ready waits for it', async (t) => {
      const queue = openBatchQueue(open(t), 'evm:11')
      const stop = new AbortController()
      let isReady = false
      let [read, before] = [0, 0]
      const steps = async function* (): AsyncGenerator<ChainStep> {
        read += 1
        yield await Promise.resolve(finalized(1))
      }
      const counting: JobQueue = {
        add: (...job) => {
          before += isReady ? 0 : 1
          return queue.add(...job)
        },
        getJobCounts: (...types) => queue.getJobCounts(...types),
        getJobState: (jobId) => queue.getJobState(jobId),
        drain: (delayed) => queue.drain(delayed),
        resume: () => queue.resume(),
        removeGlobalConcurrency: () => queue.removeGlobalConcurrency(),
        removeGlobalRateLimit: () => queue.removeGlobalRateLimit(),
        close: () => queue.close(),
      }
      const ready = waitFor(
        () => Promise.resolve(read),
        (count) => count > 0,
      ).then(() => sleep(50))
      const inFlight = new InFlight(1)
      const published = publishSteps(
        steps(),
        { queue: counting, key: jobKey('evm:11'), ready },
        1,
        inFlight,
        stop,
      )
      await ready
      isReady = true
      inFlight.begun(1)
      await waitFor(
        () => Promise.resolve(inFlight.oldestJobId),
        (given) => given !== undefined,
      )
      stop.abort()
      await published
      t.equal(before, 0)
      await queue.close()
    })

    await t.test(
      'steps that wait for a writer that is behind are joined, and the source waits',
      async (t) => {
        const backend = open(t)
        const queue = openBatchQueue(backend, 'evm:9')
        const inFlight = new InFlight(1)
        const stop = new AbortController()
        const chain = new RandomChain(1)
        const read: BlocksStep[] = []
        const events = (steps: readonly ChainStep[]): ChainEvent[] =>
          steps.flatMap((step) => (step.type === 'blocks' ? step.events : []))
        const steps = async function* (): AsyncGenerator<ChainStep> {
          while (events(read).length < 24_000) {
            const step = await Promise.resolve(chain.grow(150))
            read.push(step)
            yield step
          }
        }
        const published = publishSteps(
          steps(),
          { queue, key: jobKey('evm:9'), ready: Promise.resolve() },
          1,
          inFlight,
          stop,
        )
        await waitFor(
          () => Promise.resolve(inFlight.size),
          (size) => size === 1,
        )
        await sleep(500)
        t.equal(read.length, 1, 'nothing is read ahead before the first step has a writer')
        inFlight.begun(1)
        let before = -1
        while (before < read.length) {
          before = read.length
          await sleep(500)
        }
        const held = events(read.slice(0, -1)).length
        t.ok(held > 1_000 && held <= 13_000, `${held} events are in the queue or wait for room in it`)

        const written: ChainStep[] = []
        const worker = startBatchWorker<string>(backend, jobKey('evm:9'), {
          ...quiet(stop.signal, inFlight),
          ingest: ({ step }) => {
            written.push(step)
            return Promise.resolve('applied')
          },
          onDone: ({ sequence }) => inFlight.done(sequence),
        })
        await published
        await inFlight.untilNone(AbortSignal.timeout(20_000))
        t.same(events(written), JSON.parse(JSON.stringify(events(read))))
        t.ok(written.length < read.length)
        t.ok(written.every((step) => events([step]).length <= 4_000))
        await worker.close()
        await queue.close()
      },
    )

    await t.test('where other networks hold all the room, steps are joined to few events', async (t) => {
      const backend = open(t)
      const queue = openBatchQueue(backend, 'evm:11')
      const room = new Room()
      room.of('evm:12').take(weightOf(20_000, 0))
      room.of('evm:11').take(weightOf(20_000, 0))
      const inFlight = new InFlight(1, room.of('evm:11'))
      const stop = new AbortController()
      const chain = new RandomChain(3)
      const read: BlocksStep[] = []
      const steps = async function* (): AsyncGenerator<ChainStep> {
        while (read.length < 20) {
          const step = await Promise.resolve(chain.grow(50))
          read.push(step)
          yield step
        }
      }
      const published = publishSteps(
        steps(),
        { queue, key: jobKey('evm:11'), ready: Promise.resolve() },
        1,
        inFlight,
        stop,
      )
      await waitFor(
        () => Promise.resolve(inFlight.size),
        (size) => size === 1,
      )
      inFlight.begun(1)
      await sleep(500)
      const written: number[] = []
      const worker = startBatchWorker<string>(backend, jobKey('evm:11'), {
        ...quiet(stop.signal, inFlight),
        ingest: ({ step }) => {
          written.push(step.type === 'finalized' ? 0 : step.events.length)
          return Promise.resolve('applied')
        },
        onDone: ({ sequence }) => inFlight.done(sequence),
      })
      await published
      await inFlight.untilNone(AbortSignal.timeout(20_000))
      const events = read.reduce((sum, step) => sum + step.events.length, 0)
      t.ok(events > 1_500, `${events} events`)
      t.equal(
        written.reduce((sum, count) => sum + count, 0),
        events,
      )
      t.ok(written.length < read.length, 'some are joined')
      t.ok(
        written.every((count) => count <= 500),
        String(written),
      )
      await worker.close()
      await queue.close()
    })

    await t.test('steps of long texts are not joined beyond what memory allows', async (t) => {
      const backend = open(t)
      const queue = openBatchQueue(backend, 'evm:10')
      const inFlight = new InFlight(1)
      const stop = new AbortController()
      const chain = new RandomChain(2)
      const textOf = (step: ChainStep): number => JSON.stringify(step).length
      // All but one fit in a step together with another one. That one is more than is kept in hand.
      const texts = [2, 2, 2, 2, 6, 2, 2, 2].map((mebibytes) => `0x${'ab'.repeat(mebibytes * 512 * 1024)}`)
      const steps = async function* (): AsyncGenerator<ChainStep> {
        for (const text of texts) {
          const step = await Promise.resolve(chain.grow(3))
          for (const event of step.events.slice(0, 1)) event.txHash = text
          yield step
        }
      }
      const published = publishSteps(
        steps(),
        { queue, key: jobKey('evm:10'), ready: Promise.resolve() },
        1,
        inFlight,
        stop,
      )
      await waitFor(
        () => Promise.resolve(inFlight.size),
        (size) => size === 1,
      )
      inFlight.begun(1)
      await sleep(1_000)
      const written: number[] = []
      const carried: number[] = []
      const worker = startBatchWorker<string>(backend, jobKey('evm:10'), {
        ...quiet(stop.signal, inFlight),
        ingest: ({ step, ...position }) => {
          written.push(textOf(step))
          if (inFlight.stepOf(position) === undefined) carried.push(textOf(step))
          return Promise.resolve('applied')
        },
        onDone: ({ sequence }) => inFlight.done(sequence),
      })
      await published
      await inFlight.untilNone(AbortSignal.timeout(20_000))
      const together = written.reduce((sum, text) => sum + text, 0)
      t.ok(together > texts.join('').length, 'each step has a long text')
      t.ok(written.length < texts.length, 'some are joined')
      t.ok(Math.max(...written) < 6.5 * 1024 * 1024, `${Math.max(...written)} characters in a step`)
      t.same(carried, [Math.max(...written)], 'the largest was in its job and not in memory')
      await worker.close()
      await queue.close()
    })

    await t.test(
      'steps that the queue lost are missed, and those that are slow to write are not',
      async (t) => {
        const backend = open(t)
        const queue = openBatchQueue(backend, 'evm:13')
        const inFlight = new InFlight(1)
        const stop = new AbortController()
        let counted = 0
        let lost = 0
        const watching = watchJobs(queue, inFlight, {
          signal: stop.signal,
          onCount: () => (counted += 1),
          onLost: () => (lost += 1),
        })
        const countedAgain = async (): Promise<void> => {
          const until = counted + 2
          await waitFor(
            () => Promise.resolve(counted),
            (count) => count >= until,
          )
        }
        const steps = async function* (): AsyncGenerator<ChainStep> {
          yield await Promise.resolve(finalized(1))
          await untilAborted(stop.signal)
        }
        const published = publishSteps(
          steps(),
          { queue, key: jobKey('evm:13'), ready: Promise.resolve() },
          1,
          inFlight,
          stop,
        )
        await waitFor(
          () => Promise.resolve(inFlight.oldestJobId),
          (given) => given !== undefined,
        )
        await countedAgain()
        t.equal(lost, 0, 'it waits')
        let write: () => void = () => undefined
        const worker = startBatchWorker<string>(backend, jobKey('evm:13'), {
          ...quiet(stop.signal, inFlight),
          ingest: async () => {
            inFlight.begun(1)
            await new Promise<void>((resolve) => (write = resolve))
            return 'applied'
          },
          onDone: ({ sequence }) => inFlight.done(sequence),
        })
        await inFlight.untilAnyBegun(stop.signal)
        await countedAgain()
        t.equal(lost, 0, 'it is being written')
        write()
        await inFlight.untilNone(stop.signal)
        await worker.close()

        inFlight.add(2, { step: finalized(2), text: 0 }, true)
        await countedAgain()
        t.equal(lost, 0, 'the queue has not taken it yet')
        const jobId = await addBatch(
          queue,
          jobKey('evm:13'),
          { writerEpoch: 1, sequence: 2, step: finalized(2) },
          null,
        )
        inFlight.given(2, jobId)
        await countedAgain()
        t.equal(lost, 0)
        await queue.drain(true)
        await countedAgain()
        t.ok(lost > 0, 'it is gone')
        stop.abort()
        await Promise.all([watching, published])
        await queue.close()
      },
    )

    await t.test('where queue or source fails, the source has ended before that is told', async (t) => {
      const backend = open(t)
      const follow = (
        ending: AbortController,
        fails: boolean,
      ): [AsyncGenerator<ChainStep>, () => boolean] => {
        let ended = false
        const steps = async function* (): AsyncGenerator<ChainStep> {
          try {
            yield finalized(1)
            if (fails) throw new Error('no such chain')
            // As a source that looks at its node when it is told to stop.
            await untilAborted(ending.signal)
            await sleep(200)
          } finally {
            ended = true
          }
        }
        return [steps(), () => ended]
      }
      const queue = openBatchQueue(backend, 'evm:8')
      const source = new AbortController()
      const [failing, hasFailed] = follow(source, true)
      await t.rejects(
        publishSteps(
          failing,
          { queue, key: jobKey('evm:8'), ready: Promise.resolve() },
          1,
          underWay(),
          source,
        ),
        /no such chain/,
      )
      t.ok(hasFailed())
      t.equal(source.signal.reason, 'no such chain')

      const refusing = { ...queue, add: () => Promise.reject(new Error('no room')) }
      const ending = new AbortController()
      const [steps, hasEnded] = follow(ending, false)
      await t.rejects(
        publishSteps(
          steps,
          { queue: refusing, key: jobKey('evm:8'), ready: Promise.resolve() },
          1,
          underWay(),
          ending,
        ),
        /no room/,
      )
      t.ok(hasEnded(), 'nothing is under way any more')

      const never = new AbortController()
      const [others, othersEnded] = follow(never, false)
      const unready = { queue, key: jobKey('evm:8'), ready: Promise.reject(new Error('no queue')) }
      await t.rejects(publishSteps(others, unready, 1, underWay(), never), /no queue/)
      t.ok(othersEnded(), 'nor where the queue never is ready')
      await queue.close()
    })

    await t.test(
      'a job names its step: who has it writes it, a later writer’s is put back, any other is void',
      async (t) => {
        const backend = open(t)
        const queue = openBatchQueue(backend, 'evm:11')
        const stop = new AbortController()
        const wrote: string[] = []
        const elsewhere: JobPosition[] = []
        const writer = (name: string, inFlight: InFlight): JobWorker =>
          startBatchWorker<string>(backend, jobKey('evm:11'), {
            ...quiet(stop.signal, inFlight),
            ingest: ({ writerEpoch, sequence, step }) => {
              wrote.push(`${name}: ${writerEpoch}-${sequence} ${JSON.stringify(step)}`)
              return Promise.resolve('applied')
            },
            onElsewhere: (position) => elsewhere.push(position),
            onDead: ({ error }) => t.fail(String(error)),
          })
        const [frozen, later] = [new InFlight(2), new InFlight(3)]
        const step = finalized(7)
        later.add(1, { step, text: 0 }, true)
        for (const writerEpoch of [1, 2, 3])
          await addBatch(queue, jobKey('evm:11'), { writerEpoch, sequence: 1, step }, null)
        const first = writer('frozen', frozen)
        const counts = await waitFor(
          () => queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
          (c) => c['waiting'] === 0 && c['active'] === 0 && c['delayed'] === 1,
        )
        t.same(counts, { waiting: 0, active: 0, delayed: 1, failed: 0 })
        t.same(elsewhere[0], { writerEpoch: 3, sequence: 1 }, 'it is told that it is not the writer any more')
        await first.close()
        t.same(wrote, [])
        const second = writer('later', later)
        await waitFor(
          () => Promise.resolve(wrote.length),
          (length) => length > 0,
        )
        t.same(wrote, [`later: 3-1 ${JSON.stringify(step)}`])
        await second.close()
        await queue.close()
      },
    )

    await t.test(
      'what cannot be written now is tried again in place; what never can is a dead letter',
      async (t) => {
        const backend = open(t)
        const queue = openBatchQueue(backend, 'evm:2')
        const stop = new AbortController()
        const done: number[] = []
        const dead: string[] = []
        let failures = 2
        const inFlight = new InFlight(1)
        for (const sequence of [1, 2, 3])
          inFlight.add(sequence, { step: finalized(sequence), text: 0 }, false)
        const refused: string[] = []
        const worker = startBatchWorker<string>(backend, jobKey('evm:2'), {
          ...quiet(stop.signal, inFlight),
          onRefused: ({ reason }) => Promise.resolve(void refused.push(reason)),
          ingest: ({ sequence }) => {
            if (sequence === 2) return Promise.reject(new Error('never'))
            if (sequence === 1 && failures > 0) {
              failures -= 1
              return Promise.reject(new Error('not now'))
            }
            return Promise.resolve('applied')
          },
          isRetryable: (error) => error instanceof Error && error.message === 'not now',
          onDone: ({ sequence }) => done.push(sequence),
          onDead: ({ error }) => dead.push(String(error)),
        })
        for (const sequence of [1, 2, 3])
          await addBatch(
            queue,
            jobKey('evm:2'),
            { writerEpoch: 1, sequence, step: finalized(sequence) },
            await packStep(finalized(sequence)),
          )
        await queue.add('garbage', { nothing: true }, {})
        await waitFor(
          () => Promise.resolve(refused.length),
          (count) => count === 1,
        )
        t.same(done, [1, 3])
        t.match(dead, [/never/])
        t.match(refused, [/not a job of this service/])
        const counts = await waitFor(
          () => queue.getJobCounts('failed', 'completed', 'active'),
          (c) => c['failed'] === 1 && c['active'] === 0,
        )
        t.same(counts, { failed: 1, completed: 0, active: 0 }, 'a forged job leaves nothing in the queue')
        await worker.close()
        await queue.close()
      },
    )

    await t.test(
      'who stops while the database is away leaves its step, which is no dead letter',
      async (t) => {
        const backend = open(t)
        for (const moment of ['while it waits', 'while it writes'] as const) {
          const queue = openBatchQueue(backend, 'evm:3')
          const stop = new AbortController()
          const dead: string[] = []
          let tries = 0
          const inFlight = new InFlight(1)
          inFlight.add(1, { step: finalized(1), text: 0 }, false)
          const worker = startBatchWorker<string>(backend, jobKey('evm:3'), {
            ...quiet(stop.signal, inFlight),
            ingest: () => {
              tries += 1
              if (moment === 'while it writes') stop.abort()
              return Promise.reject(new Error('not now'))
            },
            isRetryable: () => true,
            onRetry: () => stop.abort(),
            onDone: () => t.fail('nothing was written'),
            onDead: ({ error }) => dead.push(String(error)),
          })
          await addBatch(
            queue,
            jobKey('evm:3'),
            { writerEpoch: 1, sequence: 1, step: finalized(1) },
            await packStep(finalized(1)),
          )
          const counts = await waitFor(
            () => queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
            (c) => tries === 1 && c['active'] === 0 && c['waiting'] === 0,
          )
          t.same(counts, { waiting: 0, active: 0, delayed: 0, failed: 0 }, moment)
          t.same(dead, [], moment)
          await worker.close()
          await queue.close()
        }
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
    const queue = openBatchQueue(backend, `evm:${opening}`)
    const added = addBatch(
      queue,
      jobKey(`evm:${opening}`),
      { writerEpoch: 1, sequence: 1, step: finalized(1) },
      await packStep(finalized(1)),
    )
    await Promise.race([added.catch(() => undefined), sleep(50)])
    closed.push(queue.close().catch(() => undefined))
  }
  openings.abort()
  t.ok((await killed) > 50, 'sessions were ended')
  await Promise.all(closed)
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
  const backend = queueOnPostgres(url, { Client: Dying, jsonParsedBy }, ({ message }) => told.push(message))
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

for (const kind of ['postgres', 'redis'] as const) {
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
    t.ok(Date.now() - back < 8_000, `taken after ${Date.now() - back} ms`)
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

/** Of a writer that has written before: the source need not wait for its first step. */
function underWay(): InFlight {
  const inFlight = new InFlight(1)
  inFlight.add(0, { step: finalized(0), text: 0 }, true)
  inFlight.done(0)
  return inFlight
}

function quiet(signal: AbortSignal, hand: StepsInHand = new InFlight(1)): BatchHandling<string> {
  return {
    ingest: () => Promise.resolve('applied'),
    isRetryable: () => false,
    onDone: () => undefined,
    onRetry: () => undefined,
    onDead: () => undefined,
    onRefused: () => Promise.resolve(),
    onElsewhere: () => undefined,
    hand,
    signal,
  }
}

async function waitFor<T>(read: () => Promise<T>, good: (value: T) => boolean): Promise<T> {
  for (let waited = 0; waited < 20_000; waited += 50) {
    const value = await read()
    if (good(value)) return value
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return read()
}
