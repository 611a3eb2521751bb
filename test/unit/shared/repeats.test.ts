import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Repeats } from '../../../shared/repeats.ts'

function lines(): { repeats: Repeats; written: [kind: string, line: string][] } {
  const written: [string, string][] = []
  const repeats = new Repeats({ write: (line, kind) => written.push([kind, line]), firstMs: 50, mostMs: 200 })
  return { repeats, written }
}

/** Notes the same every 5 ms for as long. */
async function noteFor(repeats: Repeats, ms: number): Promise<number> {
  let notes = 0
  for (const since = performance.now(); performance.now() - since < ms; notes += 1) {
    repeats.note('Redis is away')
    await sleep(5)
  }
  return notes
}

void t.test('one line at once, counts at growing intervals, one at the end', async (t) => {
  const { repeats, written } = lines()
  repeats.note('Redis is away')
  t.same(written, [['first', 'Redis is away']])
  const notes = await noteFor(repeats, 1_000)
  t.ok(notes > 50, `${notes} notes`)
  // At 50, 150, 350, 550, 750 and 950 ms.
  t.ok(written.length >= 3 && written.length <= 8, `${written.length} lines`)
  t.match(written[1], ['count', /^Redis is away \(\d+ times in 0\.\d s\)$/])
  const before = written.length
  repeats.over()
  t.match(written.slice(before), [['end', /^over after 1\.\d s: Redis is away$/]])
  repeats.over()
  t.equal(written.length, before + 1, 'only once')
})

void t.test('a line that comes and goes all the time stays rare', async (t) => {
  const { repeats, written } = lines()
  const startMs = performance.now()
  for (let episode = 0; episode < 100; episode += 1) {
    repeats.note('flapping')
    await sleep(4)
    repeats.over()
    await sleep(4)
  }
  // Two lines in each pause of at most 200 ms, after the first ones. A busy machine takes longer than 0.8 s.
  const most = 8 + (2 * (performance.now() - startMs)) / 200
  t.ok(written.length <= most, `${written.length} lines for 100 episodes, at most ${most}`)
})

void t.test('after a long silence it begins anew', async (t) => {
  const { repeats, written } = lines()
  repeats.note('one')
  await sleep(300)
  repeats.note('two')
  t.same(written, [
    ['first', 'one'],
    ['first', 'two'],
  ])
})
