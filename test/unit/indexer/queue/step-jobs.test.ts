import { deflateRawSync } from 'node:zlib'
import t from 'tap'
import { MAX_PAYLOAD, openJob, sealJob, type JobContent } from '../../../../indexer/queue/envelope.ts'
import { encodeStep } from '../../../../indexer/queue/join-steps.ts'
import { GatheredParts, jobsOf, stepOf } from '../../../../indexer/queue/step-jobs.ts'
import { addJob, jobIdOf } from '../../../../indexer/queue/step-queue.ts'
import { PermanentError } from '../../../../shared/errors.ts'
import type { BlocksStep, ChainStep } from '../../../../shared/events/chain-step.ts'
import {
  collectChannel,
  fundChannel,
  identity,
  makeChannel,
  settleChannel,
  updateChannel,
  voucherFacts,
} from '../../../helpers/channel-events.ts'
import { jobKey } from '../../../helpers/job-key.ts'
import { RandomChain } from '../../../helpers/random-chain.ts'

const KEY = jobKey('evm:1')
const PLACE = { readerEpoch: 3, sequence: 9 }

/** As Postgres keeps `jsonb`: with its keys in another order. */
function asJsonb(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asJsonb)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, asJsonb(inner)]),
  )
}

function contentOf(data: unknown): JobContent {
  const opened = openJob(KEY, data)
  if (!opened.ok) throw new Error(opened.reason)
  return opened.content
}

/** The step that comes out of jobs which went through a queue. */
async function received(jobs: JobContent[]): Promise<ChainStep> {
  const parts = new GatheredParts()
  for (const job of jobs) {
    const content = contentOf(asJsonb(JSON.parse(JSON.stringify(sealJob(KEY, job)))))
    const whole = content.payload === undefined ? content : parts.add(content)
    if (typeof whole !== 'string') return stepOf(whole)
  }
  throw new Error('the parts are no step')
}

function withText(step: BlocksStep, reason: string): BlocksStep {
  const [event] = step.events
  if (event === undefined || !('role' in event)) throw new Error('a step without an event')
  const { blockNumber, blockHash, blockTimeS, txHash, logIndex, txLogIndex, contract, role } = event
  const place = { blockNumber, blockHash, blockTimeS, txHash, logIndex, txLogIndex, contract, role }
  const long = { ...place, kind: 'Undecodable' as const, reason, topics: [], dataHead: '0x', dataBytes: 0 }
  return { ...step, events: [long] }
}

function randomText(characters: number): string {
  let [text, state] = ['', 1]
  while (text.length < characters) {
    state = Math.imul(state, 1_103_515_245) + 12_345
    text += (state >>> 0).toString(36)
  }
  return text.slice(0, characters)
}

void t.test('a small step is its own JSON in the job, with the kinds of its events by name', async (t) => {
  const step = new RandomChain(1).grow(4)
  const [job, ...others] = await jobsOf(PLACE, encodeStep(step))
  t.same(others, [])
  t.same(job?.step, step)
  t.equal(job?.payload, undefined)
  t.match(job?.summary, { type: 'blocks', from: step.from, to: step.to.number })
  const counts = Object.values(job?.summary.events ?? {})
  t.equal(
    counts.reduce((sum, count) => sum + count, 0),
    step.events.length,
  )
  t.same(await received(job === undefined ? [] : [job]), step)
})

void t.test('steps of each type, and events of either chain, come out as they went in', async (t) => {
  const chain = new RandomChain(5)
  const grown = chain.grow(3)
  const [height, to] = [4, 't2channel']
  const events = [
    makeChannel({ height, channel: to, channelId: 't0100' }),
    fundChannel({ height, to }),
    updateChannel({ height, to, voucher: voucherFacts({ key: 'a' }), sender: identity('t1to', 't0101') }),
    settleChannel({ height, to }),
    // Deferred by a voucher for ever.
    settleChannel({ height, to, settlingAtEpoch: Number(2n ** 63n - 1n) }),
    collectChannel({ height, to }),
  ]
  const steps: ChainStep[] = [
    grown,
    chain.reorg(2, 3),
    { type: 'finalized', block: { number: 1, hash: '0x1' } },
    { ...grown, events },
    { ...new RandomChain(2).genesis(), evidence: [] },
    // The name of a Filecoin block: the CIDs of all its miners' blocks.
    {
      type: 'finalized',
      block: {
        number: 1,
        hash: Array(40)
          .fill(`bafy2bzace${'a'.repeat(52)}`)
          .join(),
      },
    },
  ]
  for (const step of steps)
    t.same(await received(await jobsOf(PLACE, encodeStep(step))), JSON.parse(JSON.stringify(step)), step.type)
})

void t.test('a larger step is deflated, and one larger than a job is several jobs', async (t) => {
  const large = new RandomChain(1).grow(400)
  const jobs = await jobsOf(PLACE, encodeStep(large))
  t.equal(jobs.length, 1)
  t.ok(JSON.stringify(jobs).length * 2 < JSON.stringify(large).length)
  t.ok(Object.keys(jobs[0]?.summary.events ?? {}).includes('Withdraw'), 'and its summary can be read')
  t.same(await received(jobs), large)

  const huge = withText(new RandomChain(1).grow(30), randomText(3 * MAX_PAYLOAD))
  const parts = await jobsOf(PLACE, encodeStep(huge))
  t.ok(parts.length > 1)
  t.same(
    parts.map(({ part }) => part),
    parts.map((_, index) => index + 1),
  )
  t.same(await received(parts), huge)
  t.ok(parts.every((part) => JSON.stringify(sealJob(KEY, part)).length < MAX_PAYLOAD + 16 * 1024))
})

void t.test(
  'a writer keeps the parts of one step, and those that never become whole are dropped',
  async (t) => {
    const huge = withText(new RandomChain(1).grow(30), randomText(3 * MAX_PAYLOAD))
    const [first, second, ...rest] = await jobsOf(PLACE, encodeStep(huge))
    if (first === undefined || second === undefined) throw new Error('two parts')
    const ofNext = (job: JobContent): JobContent => ({ ...job, readerEpoch: 4 })
    const gathered = new GatheredParts()
    t.equal(gathered.add(second), 'incomplete', 'the first one was taken by a writer that is gone')
    t.equal(gathered.add(first), 'more')
    t.equal(gathered.add(first), 'more', 'delivered twice')
    t.equal(gathered.add(ofNext(second)), 'incomplete', 'of another reader')
    t.equal(gathered.add(second), 'incomplete', 'what came before is dropped')
    t.equal(gathered.add(ofNext(first)), 'more')
    const all = [ofNext(second), ...rest.map(ofNext)].map((job) => gathered.add(job))
    const whole = all.at(-1)
    if (typeof whole !== 'object') throw new Error('not whole')
    t.same(await stepOf(whole), huge)
  },
)

void t.test('texts that jsonb cannot hold travel deflated', async (t) => {
  for (const text of ['a\0b', 'half \ud800', 'other half \udc00']) {
    const step = withText(new RandomChain(1).grow(30), text)
    const [job] = await jobsOf(PLACE, encodeStep(step))
    t.equal(job?.step, undefined, JSON.stringify(text))
  }
})

void t.test('a step that is larger than any writer takes is refused by its reader', async (t) => {
  const step = withText(new RandomChain(1).grow(30), 'x'.repeat(50 * 1024 * 1024))
  await t.rejects(jobsOf(PLACE, encodeStep(step)), PermanentError)
})

void t.test(
  'a job that any bit of is another is refused, and so is one of another network or key',
  async (t) => {
    const [content] = await jobsOf(PLACE, encodeStep(new RandomChain(1).grow(4)))
    if (content === undefined) throw new Error('one job')
    const large = { ...content, step: undefined, payload: 'AAAA' }
    const sealed = sealJob(KEY, content)
    const deflated = JSON.parse(JSON.stringify(sealJob(KEY, large))) as typeof sealed
    t.ok(openJob(KEY, sealed).ok)
    t.ok(openJob(KEY, deflated).ok)
    const step = content.step as BlocksStep
    const others: unknown[] = [
      { ...sealed, v: 1 },
      { ...sealed, network: 'evm:10' },
      { ...sealed, readerEpoch: 4 },
      { ...sealed, sequence: 8 },
      { ...sealed, summary: { ...sealed.summary, from: 0 } },
      { ...sealed, step: { ...step, from: step.from + 1 } },
      { ...sealed, step: { ...step, events: [] } },
      { ...sealed, step: null },
      { ...sealed, payload: 'AAAA' },
      { ...deflated, payload: 'AAAB' },
      { ...deflated, payload: '' },
      { ...deflated, part: 2 },
      { ...deflated, parts: 2 },
      { ...deflated, payload: 'A'.repeat(MAX_PAYLOAD + 1) },
      { ...sealed, mac: `${sealed.mac.slice(0, -2)}AA` },
      { ...sealed, mac: '' },
      { ...sealed, mac: '?'.repeat(43) },
      { ...sealed, more: true },
      { ...sealed, readerEpoch: 1e300 },
      // The same text in another division among the fields.
      { ...sealed, readerEpoch: 39, sequence: 9 },
      sealJob({ ...KEY, secret: new Uint8Array(32).fill(8) }, content),
      sealJob(jobKey('evm:2'), content),
      ...[null, 'text', [], {}, [[[]]]],
    ]
    for (const data of others) {
      const opened = openJob(KEY, data)
      t.notOk(opened.ok, JSON.stringify(data).slice(0, 200))
      if (!opened.ok) t.match(opened.reason, /^not a job of this (service|network)/)
    }
    t.match(openJob(jobKey('evm:2'), sealed), { ok: false, reason: 'not a job of this network' })
  },
)

void t.test('the id of a job cannot be foreseen without the key, and is one for one step', async (t) => {
  const added: { id: string | undefined; options: object }[] = []
  const queue = {
    add: (_name: string, _data: unknown, options: { jobId?: string }) => {
      added.push({ id: options.jobId, options })
      return Promise.resolve()
    },
  } as unknown as Parameters<typeof addJob>[0]
  const [job] = await jobsOf(PLACE, encodeStep(new RandomChain(1).grow(3)))
  if (job === undefined) throw new Error('one job')
  const id = await addJob(queue, KEY, job)
  await addJob(queue, KEY, job)
  await addJob(queue, { ...KEY, secret: new Uint8Array(32).fill(8) }, job)
  const [first, second, others] = added
  t.equal(first?.id, id)
  t.equal(id, jobIdOf(sealJob(KEY, job)))
  t.equal(first?.id, second?.id)
  t.not(first?.id, others?.id)
  t.match(id, /^epoch-3-9-1-.{43}$/)
  t.match(first?.options, { attempts: 3, backoff: { type: 'fixed' }, removeOnComplete: true })
})

void t.test('a signed job that holds no step is an error and no step', async (t) => {
  const packed = (value: unknown): string => deflateRawSync(JSON.stringify(value)).toString('base64')
  const bomb = deflateRawSync(Buffer.alloc(200 * 1024 * 1024, '[')).toString('base64')
  t.ok(bomb.length < 300_000)
  for (const payload of ['', 'not packed', packed('blocks'), packed({ type: 'other' }), bomb])
    await t.rejects(stepOf({ payload }), PermanentError, payload.slice(0, 50))
  const step = new RandomChain(1).grow(30)
  const [event] = step.events
  const wrong: [unknown, RegExp][] = [
    [{ ...step, events: [{ ...event, kind: 'Invented' }] }, /events.0.kind/],
    [{ ...step, events: [{ ...event, more: 1 }] }, /events.0/],
    [{ ...step, events: {} }, /events/],
    [{ ...step, from: 1.5 }, /from/],
    [{ ...step, to: { number: 1 } }, /to.hash/],
    [{ type: 'finalized' }, /block/],
  ]
  for (const [value, reason] of wrong) await t.rejects(stepOf({ step: value }), reason)
})
