import { deflateRawSync } from 'node:zlib'
import t from 'tap'
import { addBatch, parseBatch, type BatchJob } from '../../indexer/queue/batch-queue.ts'
import type { JobQueue } from '../../indexer/queue/backend.ts'
import { InFlight } from '../../indexer/queue/publish-steps.ts'
import { PermanentError } from '../../shared/errors.ts'
import { RandomChain } from '../helpers/random-chain.ts'

/** What a queue was given; what it does with it is BullMQ's. */
class Given implements JobQueue {
  readonly data: unknown[] = []
  add(_name: string, data: unknown): Promise<unknown> {
    this.data.push(data)
    return Promise.resolve()
  }
  getJobCounts = (): Promise<Record<string, number>> => Promise.resolve({})
  drain = (): Promise<void> => Promise.resolve()
  close = (): Promise<void> => Promise.resolve()
}

void t.test('a step comes out as it went in, and takes a fraction of its JSON', async (t) => {
  const chain = new RandomChain(1)
  const job: BatchJob = { writerEpoch: 3, sequence: 9, step: chain.grow(200) }
  const queue = new Given()
  await addBatch(queue, job)
  const [data] = queue.data
  t.strictSame(await parseBatch(JSON.parse(JSON.stringify(data))), job)
  t.ok(JSON.stringify(data).length * 2 < JSON.stringify(job).length)
})

void t.test('whatever else somebody puts into the queue is refused for good', async (t) => {
  const packed = (value: unknown): string => deflateRawSync(JSON.stringify(value)).toString('base64')
  const frame = { writerEpoch: 1, sequence: 1 }
  for (const data of [
    null,
    'text',
    {},
    { ...frame },
    { ...frame, step: { type: 'blocks' } },
    { ...frame, step: '' },
    { ...frame, step: 'not packed' },
    { ...frame, step: packed('blocks') },
    { ...frame, step: packed({ type: 'other' }) },
    { ...frame, writerEpoch: 0, step: packed({ type: 'finalized' }) },
    { ...frame, step: deflateRawSync('{"type":').toString('base64') },
  ]) {
    await t.rejects(parseBatch(data), PermanentError, JSON.stringify(data))
  }
  t.match(await parseBatch({ ...frame, step: packed({ type: 'finalized' }) }), { ...frame })
})

void t.test(
  'a step in hand need not be unpacked; of another writer, and once it is written, it is not in hand',
  async (t) => {
    const [first, second] = [new RandomChain(2), new RandomChain(3)].map((chain) => chain.grow(20))
    if (first === undefined || second === undefined) throw new Error('two chains')
    const inFlight = new InFlight(2)
    inFlight.add(1, { step: first, text: 0 })
    const parse = (writerEpoch: number, step: string): Promise<BatchJob> =>
      parseBatch({ writerEpoch, sequence: 1, step }, (job) => inFlight.stepOf(job))
    const queue = new Given()
    await addBatch(queue, { writerEpoch: 1, sequence: 1, step: second })
    const [{ step: packed }] = queue.data as [{ step: string }]

    t.equal((await parse(2, 'not looked at')).step, first)
    t.strictSame((await parse(1, packed)).step, JSON.parse(JSON.stringify(second)))
    inFlight.add(3, { step: first, text: 7 * 1024 * 1024 })
    t.equal(inFlight.stepOf({ writerEpoch: 2, sequence: 3 }), undefined, 'nor is one of long texts')
    t.equal(inFlight.size, 2, 'though it is under way')
    inFlight.done(1)
    t.strictSame((await parse(2, packed)).step, JSON.parse(JSON.stringify(second)))
    await t.rejects(parse(2, 'not packed'), PermanentError)
    inFlight.add(4, { step: first, text: 0 })
    inFlight.clear()
    t.equal(
      inFlight.stepOf({ writerEpoch: 2, sequence: 4 }),
      undefined,
      'once the writer has ended, nothing is',
    )
  },
)
