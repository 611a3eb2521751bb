import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { Backlog, type MeasuredStep } from '../../../../indexer/queue/backlog.ts'
import { Room, weightOf } from '../../../../indexer/queue/room.ts'
import type { BlocksStep, ChainStep } from '../../../../shared/events/chain-step.ts'
import { RandomChain } from '../../../helpers/random-chain.ts'

const NEVER = new AbortController().signal
/** Well within the time for which blocks are collected, and long for what needs no waiting. */
const SOON_MS = 200
const LATE = Symbol('late')

/** A backlog of which the first step was taken, and the chain that goes on. */
async function begun(room = new Room()): Promise<{ backlog: Backlog; chain: RandomChain }> {
  const backlog = new Backlog(room.of('evm:1'))
  const chain = new RandomChain(7)
  const first = final(chain.grow(3))
  await backlog.put(first, NEVER)
  // The first one is not waited with: after a start the writer shall write.
  const taken = await soon(backlog.take(NEVER))
  if (taken === LATE || taken?.step !== first) throw new Error('the first step was not taken at once')
  return { backlog, chain }
}

/** Final blocks come without headers. */
function final(step: BlocksStep): BlocksStep {
  return { ...step, headers: [] }
}

function soon<T>(promise: Promise<T>): Promise<T | typeof LATE> {
  return Promise.race([promise, delay(SOON_MS).then((): typeof LATE => LATE)])
}

function stepOf(taken: MeasuredStep | undefined | typeof LATE): ChainStep | undefined | typeof LATE {
  return taken === LATE ? LATE : taken?.step
}

void t.test('final blocks are collected until what follows is something else', async (t) => {
  const { backlog, chain } = await begun()
  const steps = [final(chain.grow(4)), final(chain.grow(2)), final(chain.grow(5))]
  const taking = backlog.take(NEVER)
  for (const step of steps) await backlog.put(step, NEVER)
  t.equal(await soon(taking), LATE)
  const told: ChainStep = { type: 'finalized', block: chain.blocks.at(-1) ?? { number: 0, hash: '' } }
  const putting = backlog.put(told, NEVER)
  const taken = stepOf(await soon(taking))
  t.match(taken, { type: 'blocks', from: steps[0]?.from, to: steps[2]?.to })
  t.same(
    (taken as BlocksStep).events,
    steps.flatMap(({ events }) => events),
  )
  await putting
  t.equal(stepOf(await soon(backlog.take(NEVER))), told, 'and that one waits for nothing')
})

void t.test('where nothing follows they are taken in the end', async (t) => {
  const { backlog, chain } = await begun()
  const step = final(chain.grow(4))
  await backlog.put(step, NEVER)
  const taking = backlog.take(NEVER)
  t.equal(await soon(taking), LATE)
  t.equal(stepOf(await taking), step)
})

void t.test('the last ones are taken as soon as the source has ended', async (t) => {
  const { backlog, chain } = await begun()
  const step = final(chain.grow(4))
  await backlog.put(step, NEVER)
  const taking = backlog.take(NEVER)
  backlog.end()
  t.equal(stepOf(await soon(taking)), step)
  t.equal(await soon(backlog.take(NEVER)), undefined)
})

void t.test('a full step is taken at once, and what did not fit is the next one', async (t) => {
  const { backlog, chain } = await begun()
  const [event] = chain.grow(20).events
  if (event === undefined) throw new Error('twenty blocks without an event')
  const [larger, other] = [final(chain.grow(4)), final(chain.grow(2))]
  const large = { ...larger, events: Array.from({ length: 4_000 }, () => event) }
  const small = { ...other, events: [event] }
  await backlog.put(large, NEVER)
  const taking = backlog.take(NEVER)
  const putting = backlog.put(small, NEVER)
  t.equal(stepOf(await soon(taking)), large)
  await putting
  backlog.end()
  t.equal(stepOf(await soon(backlog.take(NEVER))), small)
})

void t.test('texts that are too long for one step are taken at once, and are two', async (t) => {
  const { backlog, chain } = await begun()
  const [event] = chain.grow(20).events
  if (event === undefined) throw new Error('twenty blocks without an event')
  const junk = { ...event, txHash: 'x'.repeat(4 * 1024 * 1024) }
  const steps = [chain.grow(4), chain.grow(2)].map((step) => ({ ...final(step), events: [junk] }))
  const taking = backlog.take(NEVER)
  const putting = Promise.all(steps.map((step) => backlog.put(step, NEVER)))
  t.equal(stepOf(await soon(taking)), steps[0])
  await putting
  backlog.end()
  t.equal(stepOf(await soon(backlog.take(NEVER))), steps[1])
})

void t.test('where the networks of a process have no room nothing is collected', async (t) => {
  const room = new Room()
  const { backlog, chain } = await begun(room)
  room.of('evm:2').take(weightOf(20_000, 0))
  room.of('evm:1').take(weightOf(20_000, 0))
  const step = final(chain.grow(4))
  await backlog.put(step, NEVER)
  t.equal(stepOf(await soon(backlog.take(NEVER))), step)
})

void t.test('blocks at the head, and what is told of them, are taken as soon as they are read', async (t) => {
  const { backlog, chain } = await begun()
  const steps: ChainStep[] = [
    chain.grow(1),
    { type: 'finalized', block: chain.blocks[0] ?? { number: 0, hash: '' } },
    chain.grow(2),
    chain.reorg(1, 2),
  ]
  for (const step of steps) {
    const taking = backlog.take(NEVER)
    await backlog.put(step, NEVER)
    t.equal(stepOf(await soon(taking)), step, step.type)
  }
})

void t.test('who stops is not kept waiting', async (t) => {
  const { backlog, chain } = await begun()
  const stop = new AbortController()
  await backlog.put(final(chain.grow(4)), stop.signal)
  const taking = backlog.take(stop.signal)
  stop.abort()
  t.equal(await soon(taking), undefined)
})
