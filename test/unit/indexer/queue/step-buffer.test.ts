import t from 'tap'
import { ByteBudget } from '../../../../indexer/queue/byte-budget.ts'
import { textOf, type EncodedStep } from '../../../../indexer/queue/join-steps.ts'
import { StepBuffer } from '../../../../indexer/queue/step-buffer.ts'
import { UnwrittenSteps } from '../../../../indexer/queue/unwritten-steps.ts'
import type { BlocksStep, ChainStep } from '../../../../shared/events/chain-step.ts'
import { RandomChain } from '../../../helpers/random-chain.ts'

const NEVER = new AbortController().signal
const KIB = 1024

/** Whether it is so by now, once all that waits for nothing has run. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let done = false
  void promise.then(() => (done = true))
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
  return done
}

function stepOf(encoded: EncodedStep | undefined): ChainStep | undefined {
  return encoded && (JSON.parse(textOf(encoded)) as ChainStep)
}

/** A step whose events take about so many bytes. */
function sized(chain: RandomChain, bytes: number): BlocksStep {
  const step = chain.grow(1)
  const [event] = new RandomChain(8).grow(20).events
  if (event === undefined) throw new Error('twenty blocks without an event')
  return { ...step, events: [{ ...event, txHash: 'x'.repeat(bytes) }] }
}

void t.test('what waits is joined, and what does not follow stays by itself', async (t) => {
  const buffer = new StepBuffer(new ByteBudget())
  const chain = new RandomChain(7)
  const steps = [chain.grow(3), chain.grow(2), chain.grow(4)]
  const finalized: ChainStep = { type: 'finalized', block: chain.blocks[1] ?? { number: 0, hash: '' } }
  for (const step of [...steps, finalized, chain.reorg(1, 2)]) await buffer.put(step, NEVER)
  buffer.end()
  const taken = [1, 2, 3, 4].map(() => buffer.take(NEVER))
  t.match(stepOf(await taken[0]), { type: 'blocks', from: steps[0]?.from, to: steps[2]?.to })
  t.match(await taken[1], { head: { type: 'finalized' } })
  t.match(await taken[2], { head: { type: 'reorg' } })
  t.equal(await taken[3], undefined)
})

void t.test('one that is waited for is taken at once', async (t) => {
  const buffer = new StepBuffer(new ByteBudget())
  const chain = new RandomChain(7)
  for (const step of [chain.grow(1), chain.grow(2)]) {
    const taking = buffer.take(NEVER)
    await buffer.put(step, NEVER)
    t.same(stepOf(await taking), step)
  }
})

void t.test('a source waits while the buffer or the process is full, until something is taken', async (t) => {
  const budget = new ByteBudget(100 * KIB)
  const buffer = new StepBuffer(budget)
  const chain = new RandomChain(7)
  await buffer.put(sized(chain, 60 * KIB), NEVER)
  const putting = buffer.put(sized(chain, 60 * KIB), NEVER)
  t.equal(await isDone(putting), false)
  const other = new StepBuffer(budget)
  const small = other.put(sized(new RandomChain(9), 10), NEVER)
  t.equal(await isDone(small), false, 'another network reads one step, and waits until that is taken')
  t.ok(await other.take(NEVER))
  await small
  const taken = await buffer.take(NEVER)
  await putting
  t.equal(budget.isFull, true, 'until the steps are written their bytes are held')
  budget.leave(taken?.bytes ?? 0)
  t.equal(budget.isFull, false)
})

void t.test('texts that are too long for one step are two', async (t) => {
  const buffer = new StepBuffer(new ByteBudget(100 * KIB * KIB))
  const chain = new RandomChain(7)
  const steps = [2, 2, 2].map((mebibytes) => sized(chain, mebibytes * KIB * KIB))
  const putting = steps.map((step) => buffer.put(step, NEVER))
  t.same(stepOf(await buffer.take(NEVER)), steps[0])
  t.same(stepOf(await buffer.take(NEVER)), steps[1])
  await Promise.all(putting)
})

void t.test('who stops is not kept waiting, and holds nothing', async (t) => {
  const budget = new ByteBudget(1)
  const buffer = new StepBuffer(budget)
  const stop = new AbortController()
  const taking = buffer.take(stop.signal)
  const putting = buffer.put(sized(new RandomChain(7), KIB), stop.signal)
  t.ok(await taking)
  const second = buffer.put(sized(new RandomChain(7), KIB), stop.signal)
  stop.abort()
  await Promise.all([putting, second])
  t.equal(await buffer.take(stop.signal), undefined)
  buffer.clear()
  budget.leave(budget.isFull ? 1 : 0)
})

void t.test('a network gives the queue three steps, or one while the process is full', async (t) => {
  const budget = new ByteBudget(100)
  const unwritten = new UnwrittenSteps(budget)
  const add = (sequence: number, bytes: number): void => {
    budget.take(bytes)
    const id = `${sequence}`
    unwritten.add({ sequence, bytes, to: null, jobIds: [id], lastJobId: id, givenAtMs: 0 })
  }
  for (const sequence of [1, 2, 3]) {
    t.equal(await isDone(unwritten.untilRoom(NEVER)), true)
    add(sequence, 10)
  }
  const fourth = unwritten.untilRoom(NEVER)
  t.equal(await isDone(fourth), false)
  t.equal(unwritten.ofJob('2')?.sequence, 2)
  t.equal(unwritten.writtenUpTo(2)?.sequence, 2, 'the first as well')
  await fourth
  t.equal(unwritten.oldest?.sequence, 3)
  add(4, 100)
  t.equal(await isDone(unwritten.untilRoom(NEVER)), false, 'the process is full')
  unwritten.writtenUpTo(4)
  t.equal(await isDone(unwritten.untilRoom(NEVER)), true)
  t.equal(unwritten.waitsForMs, 0)
  add(5, 500)
  unwritten.clear()
  t.equal(budget.isFull, false)
})
