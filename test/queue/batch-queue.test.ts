import { deflateRawSync } from 'node:zlib'
import t from 'tap'
import { addBatch, packStep, readBatch, type BatchJob } from '../../indexer/queue/batch-queue.ts'
import type { JobQueue } from '../../indexer/queue/backend.ts'
import { MAX_PAYLOAD, openJob, sealJob, type JobContent, type JobKey } from '../../indexer/queue/envelope.ts'
import { InFlight } from '../../indexer/queue/publish-steps.ts'
import { PermanentError } from '../../shared/errors.ts'
import { jobKey } from '../helpers/job-key.ts'
import { RandomChain } from '../helpers/random-chain.ts'

const KEY = jobKey('evm:1')

/** The jobs that a queue was given. */
class Given implements JobQueue {
  readonly jobs: { data: unknown; id: string | undefined }[] = []
  add(_name: string, data: unknown, { jobId }: { jobId?: string }): Promise<unknown> {
    this.jobs.push({ data: JSON.parse(JSON.stringify(data)), id: jobId })
    return Promise.resolve()
  }
  getJobCounts = (): Promise<Record<string, number>> => Promise.resolve({})
  getJobState = (): Promise<string> => Promise.resolve('unknown')
  drain = (): Promise<void> => Promise.resolve()
  resume = (): Promise<void> => Promise.resolve()
  removeGlobalConcurrency = (): Promise<void> => Promise.resolve()
  removeGlobalRateLimit = (): Promise<void> => Promise.resolve()
  close = (): Promise<void> => Promise.resolve()
}

/** A writer that waits for these steps and keeps none in memory. */
function waitingFor(writerEpoch: number, ...sequences: number[]): InFlight {
  const inFlight = new InFlight(writerEpoch)
  const step = { type: 'finalized', block: { number: 1, hash: '0x1' } } as const
  for (const sequence of sequences) inFlight.add(sequence, { step, text: 0 }, false)
  return inFlight
}

function contentOf(data: unknown, key: JobKey = KEY): JobContent {
  const opened = openJob(key, data)
  if (!opened.ok) throw new Error(opened.reason)
  return opened.content
}

void t.test('a step comes out as it went in, and takes a fraction of its JSON', async (t) => {
  const job: BatchJob = { writerEpoch: 3, sequence: 9, step: new RandomChain(1).grow(200) }
  const queue = new Given()
  const id = await addBatch(queue, KEY, job, await packStep(job.step))
  const [added] = queue.jobs
  t.equal(added?.id, id)
  t.strictSame(await readBatch(contentOf(added?.data), waitingFor(3, 9)), job)
  t.ok(JSON.stringify(added?.data).length * 2 < JSON.stringify(job).length)
})

void t.test('a job that any bit of is another is refused, and so is one of another network or key', (t) => {
  const content = { writerEpoch: 3, sequence: 9, payload: 'AAAA' }
  const sealed = sealJob(KEY, content)
  t.same(openJob(KEY, sealed), { ok: true, content })
  const others: unknown[] = [
    { ...sealed, v: 2 },
    { ...sealed, network: 'evm:10' },
    { ...sealed, writerEpoch: 4 },
    { ...sealed, sequence: 8 },
    { ...sealed, payload: 'AAAB' },
    { ...sealed, payload: '' },
    { ...sealed, payload: null },
    { ...sealed, mac: `${sealed.mac.slice(0, -2)}AA` },
    { ...sealed, mac: '' },
    { ...sealed, mac: '?'.repeat(43) },
    { ...sealed, more: true },
    { ...sealed, payload: 'A'.repeat(MAX_PAYLOAD + 1) },
    { ...sealed, writerEpoch: 1e300 },
    sealJob({ ...KEY, secret: new Uint8Array(32).fill(8) }, content),
    sealJob(jobKey('evm:2'), content),
    // The same text in another division among the fields.
    { ...sealed, writerEpoch: 39, sequence: 9 },
    null,
    'text',
    [],
    {},
    [[[]]],
  ]
  for (const data of others) {
    const opened = openJob(KEY, data)
    t.notOk(opened.ok, JSON.stringify(data).slice(0, 200))
    if (!opened.ok) t.match(opened.reason, /^not a job of this (service|network)/)
  }
  t.match(openJob(jobKey('evm:2'), sealed), { ok: false, reason: 'not a job of this network' })
  t.end()
})

void t.test('the id of a job cannot be foreseen without the key, and is one for one step', async (t) => {
  const [queue, others] = [new Given(), new Given()]
  const job: BatchJob = { writerEpoch: 1, sequence: 2, step: new RandomChain(1).grow(3) }
  await addBatch(queue, KEY, job, null)
  await addBatch(queue, KEY, job, null)
  await addBatch(others, { ...KEY, secret: new Uint8Array(32).fill(8) }, job, null)
  t.equal(queue.jobs[0]?.id, queue.jobs[1]?.id)
  t.not(queue.jobs[0]?.id, others.jobs[0]?.id)
  t.match(queue.jobs[0]?.id, /^epoch-1-2-.{43}$/)
})

void t.test('a payload of this service that is no step is an error and no step', async (t) => {
  const packed = (value: unknown): string => deflateRawSync(JSON.stringify(value)).toString('base64')
  const bomb = deflateRawSync(Buffer.alloc(200 * 1024 * 1024, '[')).toString('base64')
  t.ok(bomb.length < 300_000)
  for (const payload of ['', 'not packed', packed('blocks'), packed({ type: 'other' }), bomb]) {
    const content = contentOf(sealJob(KEY, { writerEpoch: 1, sequence: 1, payload }))
    await t.rejects(readBatch(content, waitingFor(1, 1)), PermanentError, payload.slice(0, 50))
  }
})

void t.test('a step that is larger than a job may be is not packed', async (t) => {
  const step = new RandomChain(1).grow(3)
  for (const event of step.events.slice(0, 1)) event.txHash = 'x'.repeat(50 * 1024 * 1024)
  t.equal(await packStep(step), null)
})

void t.test('a job names the step that its writer has in memory, and no other writer finds it', async (t) => {
  const [first, second] = [new RandomChain(2), new RandomChain(3)].map((chain) => chain.grow(20))
  if (first === undefined || second === undefined) throw new Error('two chains')
  const inFlight = new InFlight(2)
  inFlight.add(1, { step: first, text: 0 }, true)
  inFlight.add(3, { step: second, text: 0 }, false)
  const stepAt = async (writerEpoch: number, sequence: number, payload: string | null): Promise<unknown> =>
    (await readBatch({ writerEpoch, sequence, payload }, inFlight)).step
  const carried = await packStep(second)

  t.equal(await stepAt(2, 1, null), first)
  t.equal(await stepAt(1, 1, null), null, 'of another writer')
  t.equal(await stepAt(1, 1, carried), null, 'of an earlier writer, whatever it carries')
  t.equal(await stepAt(3, 1, carried), null, 'of a later writer, whatever it carries')
  t.strictSame(await stepAt(2, 3, carried), JSON.parse(JSON.stringify(second)))
  inFlight.done(1)
  inFlight.done(3)
  t.equal(await stepAt(2, 1, null), null, 'once it is written')
  t.equal(await stepAt(2, 3, carried), null, 'delivered again after it was written')
  inFlight.add(4, { step: first, text: 0 }, true)
  inFlight.clear()
  t.equal(await stepAt(2, 4, null), null, 'once the writer has ended')
  t.same(
    [1, 2, 3].map((writerEpoch) => inFlight.isOfLater({ writerEpoch, sequence: 1 })),
    [false, false, true],
  )
})
