import t from 'tap'
import { FairQueue } from '../../../api/connections/fair-queue.ts'

const LONG_MS = 60_000

void t.test('clients take turns, whoever asked for most', (t) => {
  const queue = new FairQueue({ running: 1, waiting: 100, waitMs: LONG_MS })
  const order: string[] = []
  const ask = (client: string, name: string): void =>
    queue.ask(client, (mayRun) => order.push(`${name} ${mayRun ? 'runs' : 'is refused'}`))
  ask('a', 'a1')
  for (const name of ['a2', 'a3', 'a4']) ask('a', name)
  ask('b', 'b1')
  ask('b', 'b2')
  ask('c', 'c1')
  t.strictSame(order, ['a1 runs'])
  for (let left = 0; left < 7; left += 1) queue.leave()
  t.strictSame(
    order,
    ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'].map((name) => `${name} runs`),
  )
  ask('c', 'c2')
  t.equal(order.at(-1), 'c2 runs', 'nothing runs any more')
  t.end()
})

void t.test('more than may wait is refused at once', (t) => {
  const queue = new FairQueue({ running: 2, waiting: 1, waitMs: LONG_MS })
  const answers: boolean[] = []
  for (let asked = 0; asked < 5; asked += 1) queue.ask('a', (mayRun) => answers.push(mayRun))
  t.strictSame(answers, [true, true, false, false])
  queue.leave()
  t.strictSame(answers, [true, true, false, false, true])
  queue.leave()
  queue.leave()
  t.end()
})

void t.test('a request that waited too long is refused, although nothing ends', async (t) => {
  const queue = new FairQueue({ running: 1, waiting: 10, waitMs: 50 })
  queue.ask('a', () => undefined)
  const askedMs = performance.now()
  const refused = ['a', 'b', 'a'].map(
    (client) => new Promise<boolean>((resolve) => queue.ask(client, resolve)),
  )
  t.strictSame(await Promise.all(refused), [false, false, false])
  t.ok(performance.now() - askedMs >= 50)
  queue.leave()
  queue.ask('b', (mayRun) => t.ok(mayRun, 'those that were refused take no place'))
})

void t.test('a process that stands still refuses nobody for that time', async (t) => {
  const queue = new FairQueue({ running: 1, waiting: 10, waitMs: 100 })
  queue.ask('a', () => undefined)
  const answers: boolean[] = []
  queue.ask('b', (mayRun) => answers.push(mayRun))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  await new Promise(setImmediate)
  queue.leave()
  t.strictSame(answers, [true])
  queue.leave()
})
