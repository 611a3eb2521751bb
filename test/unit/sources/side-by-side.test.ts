import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { sideBySide } from '../../../indexer/sources/side-by-side.ts'

void t.test('results come in the items’ order, and no more than so many are worked on at once', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      async (waitsMs, most) => {
        let busy = 0
        let busiest = 0
        const results = await sideBySide(waitsMs, most, async (waitMs) => {
          busy += 1
          busiest = Math.max(busiest, busy)
          await delay(waitMs)
          busy -= 1
          return waitMs * 2
        })
        t.same(
          results,
          waitsMs.map((waitMs) => waitMs * 2),
        )
        t.equal(busiest, Math.min(most, waitsMs.length))
      },
    ),
    { numRuns: 30 },
  )
})

void t.test('after a failure nothing is begun, and nothing is left under way', async (t) => {
  const begun: number[] = []
  const ended: number[] = []
  const work = async (item: number): Promise<void> => {
    begun.push(item)
    await delay(item === 1 ? 5 : 30)
    ended.push(item)
    if (item === 1) throw new Error('the second fails')
  }
  await t.rejects(sideBySide([0, 1, 2, 3, 4, 5], 3, work), { message: 'the second fails' })
  t.same(begun, [0, 1, 2])
  t.same(ended.sort(), [0, 1, 2])
})
