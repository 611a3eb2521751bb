import { deflateRawSync } from 'node:zlib'
import t from 'tap'
import {
  addBatch,
  addNamedBatch,
  parseBatch,
  type BatchJob,
  type TakenBatch,
} from '../../indexer/queue/batch-queue.ts'
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

/** Who has no step in hand. */
const NONE = { stepOf: (): undefined => undefined, isOfLater: () => false }

void t.test('a step comes out as it went in, and takes a fraction of its JSON', async (t) => {
  const chain = new RandomChain(1)
  const job: BatchJob = { writerEpoch: 3, sequence: 9, step: chain.grow(200) }
  const queue = new Given()
  await addBatch(queue, job)
  const [data] = queue.data
  t.strictSame(await parseBatch(JSON.parse(JSON.stringify(data)), NONE), job)
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
    await t.rejects(parseBatch(data, NONE), PermanentError, JSON.stringify(data))
  }
  t.match(await parseBatch({ ...frame, step: packed({ type: 'finalized' }) }, NONE), { ...frame })
})

void t.test('a job names the step that its writer has in hand, and nobody else finds it', async (t) => {
  const [first, second] = [new RandomChain(2), new RandomChain(3)].map((chain) => chain.grow(20))
  if (first === undefined || second === undefined) throw new Error('two chains')
  const inFlight = new InFlight(2)
  t.ok(inFlight.add(1, { step: first, text: 0 }))
  const queue = new Given()
  await addNamedBatch(queue, { writerEpoch: 2, sequence: 1, step: first })
  await addBatch(queue, { writerEpoch: 1, sequence: 1, step: second })
  const [named, carried] = queue.data
  t.strictSame(named, { writerEpoch: 2, sequence: 1, step: null })
  const parse = (data: unknown): Promise<TakenBatch> => parseBatch(data, inFlight)

  t.equal((await parse(named)).step, first)
  t.equal((await parse({ writerEpoch: 1, sequence: 1, step: null })).step, null, 'of another writer')
  t.strictSame((await parse(carried)).step, JSON.parse(JSON.stringify(second)))
  t.equal(
    (await parse({ ...Object(carried), writerEpoch: 3 })).step,
    null,
    'of a later writer, whatever it carries',
  )
  t.notOk(inFlight.add(3, { step: first, text: 7 * 1024 * 1024 }), 'one of long texts is not kept')
  t.equal(inFlight.stepOf({ writerEpoch: 2, sequence: 3 }), undefined)
  t.equal(inFlight.size, 2, 'though it is under way')
  inFlight.done(1)
  t.equal((await parse(named)).step, null, 'once it is written')
  t.ok(inFlight.add(4, { step: first, text: 0 }))
  inFlight.clear()
  t.equal(
    inFlight.stepOf({ writerEpoch: 2, sequence: 4 }),
    undefined,
    'once the writer has ended, nothing is',
  )
  t.same(
    [1, 2, 3].map((writerEpoch) => inFlight.isOfLater({ writerEpoch, sequence: 1 })),
    [false, false, true],
  )
})
