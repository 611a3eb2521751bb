import fc from 'fast-check'
import t from 'tap'
import { forkPoint } from '../../../indexer/sources/fork-point.ts'

const branch = (name: string, from: number, to: number, fork: number): { number: number; hash: string }[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => {
    const number = from + index
    return { number, hash: number <= fork ? `shared ${number}` : `${name} ${number}` }
  })

void t.test('the last shared block, wherever the two lists begin and end', (t) => {
  const height = fc.integer({ min: 0, max: 60 })
  fc.assert(
    fc.property(height, height, height, height, height, (fork, from, to, theirFrom, theirTo) => {
      const ours = branch('ours', from, to, fork)
      const theirs = branch('theirs', theirFrom, theirTo, fork)
      const highest = Math.min(fork, to, theirTo)
      const lowest = Math.max(from, theirFrom)
      const expected = highest < lowest ? null : { number: highest, hash: `shared ${highest}` }
      const found = forkPoint(ours, theirs)
      return found?.number === expected?.number && found?.hash === expected?.hash
    }),
  )
  t.equal(forkPoint([], []), null)
  t.end()
})
