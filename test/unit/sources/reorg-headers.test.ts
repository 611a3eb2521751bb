import t from 'tap'
import type { ChainSource } from '../../../indexer/sources/chain-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import type { BlockHeader, ChainStep } from '../../../shared/events/chain-step.ts'

/** Heights without a block (null rounds of Filecoin) have the hash of the block below. */
function branch(name: string, from: number, parentHash: string, heights: { to: number; empty: number[] }) {
  const headers: BlockHeader[] = []
  let last = parentHash
  for (let number = from; number <= heights.to; number += 1) {
    const hash = heights.empty.includes(number) ? last : `${name}${number}`
    headers.push({ number, hash, parentHash: last, timeS: number })
    last = hash
  }
  return headers
}

const shared = branch('s', 90, 's89', { to: 100, empty: [] })
const ours = [...shared, ...branch('a', 101, 's100', { to: 102, empty: [] })]
const theirs = [...shared, ...branch('b', 101, 's100', { to: 103, empty: [101, 102] })]

/** A source on the other branch, one of whose nodes is behind now and then: it answers `headers` only up to its own head. */
function sourceBehindAt(questions: number[], behindAt: number): ChainSource {
  let asked = 0
  const head = theirs.at(-1)
  return {
    ...{ network: 'filecoin:test', startBlock: 0, maxBlockRange: 100 },
    check: () => Promise.resolve(),
    head: () => (head === undefined ? Promise.reject(new Error('no head')) : Promise.resolve(head)),
    finalized: () => Promise.resolve({ number: 90, hash: 's90' }),
    believeFinal: () => undefined,
    finalHeader: () => Promise.reject(new Error('nothing is read by height here')),
    headers: (from, to) => {
      asked += 1
      questions.push(asked)
      const top = asked === behindAt ? Math.min(to, 100) : to
      return Promise.resolve(theirs.filter(({ number }) => number >= from && number <= top))
    },
    readRange: () => Promise.reject(new Error('nothing is read by height here')),
    readBlocks: () => Promise.resolve({ events: [], evidence: [] }),
    headTicks: async function* () {
      await Promise.resolve()
      yield
    },
    close: () => Promise.resolve(),
  }
}

void t.test('a node that is behind for one question leaves no gap in the headers of a reorg', async (t) => {
  for (let behindAt = 1; behindAt <= 4; behindAt += 1) {
    const ending = new AbortController()
    const steps: ChainStep[] = []
    const questions: number[] = []
    const resume = {
      position: { number: 102, hash: 'a102' },
      headers: ours.slice(1),
      finalized: { number: 90, hash: 's90' },
    }
    const source = sourceBehindAt(questions, behindAt)
    for await (const step of followChain(source, resume, { signal: ending.signal })) {
      steps.push(step)
      if (step.type === 'reorg') ending.abort()
    }
    const [reorg] = steps
    if (reorg?.type !== 'reorg') throw new Error('no reorg was told')
    t.ok(questions.length >= 2, 'headers were asked for more than once')
    t.equal(reorg.ancestor.number + reorg.headers.length, 103, `behind at question ${behindAt}`)
    t.same(
      reorg.headers.map(({ number }) => number),
      reorg.headers.map((_, index) => reorg.ancestor.number + 1 + index),
    )
  }
})
