import { setImmediate as round } from 'node:timers/promises'
import t from 'tap'
import { ownTurn } from '../../../../shared/async/turns.ts'

void t.test('one goes on in each round of the event loop, in the order in which they came', async (t) => {
  const gone: { who: number; round: number }[] = []
  let rounds = 0
  const work = async (who: number): Promise<void> => {
    await ownTurn()
    gone.push({ who, round: rounds })
  }
  const all = Promise.all([0, 1, 2, 3].map(work))
  while (gone.length < 4 && rounds < 100) {
    await round()
    rounds += 1
  }
  await all
  t.same(
    gone.map(({ who }) => who),
    [0, 1, 2, 3],
  )
  t.equal(new Set(gone.map((one) => one.round)).size, 4)
  await work(4)
  t.equal(gone.at(-1)?.who, 4, 'who comes when nobody waits gets a turn, too')
})
