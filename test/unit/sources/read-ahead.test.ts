import t from 'tap'
import { RetryableError } from '../../../shared/errors.ts'
import { RangeWidth } from '../../../indexer/sources/block-ranges.ts'
import type { ChainSource, RangeRead } from '../../../indexer/sources/chain-source.ts'
import { readAhead } from '../../../indexer/sources/read-ahead.ts'

const header = (number: number): RangeRead['first'] => ({
  ...{ number, hash: `0x${number}`, parentHash: `0x${number - 1}`, timeS: number },
})

const allAsked = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** A chain whose reads end when they are told to. */
class SlowChain {
  readonly asked: { from: number; to: number; answer: () => void }[] = []

  readonly source: Pick<ChainSource, 'readRange'> = {
    readRange: (from, to) =>
      new Promise((resolve) => {
        const read = { first: header(from), last: header(to), headers: [], events: [], evidence: [] }
        this.asked.push({
          from,
          to,
          answer: () => {
            resolve(read)
          },
        })
      }),
  }

  get spans(): string[] {
    return this.asked.map(({ from, to }) => `${from}-${to}`)
  }
}

void t.test('the first range is read alone, and as many as are allowed once it is known', async (t) => {
  const chain = new SlowChain()
  const width = new RangeWidth(100, { first: 4, targetEvents: 500 })
  const { signal } = new AbortController()
  const ranges = readAhead({ from: 1, to: 1_000 }, { source: chain.source, width, parallel: 4, signal })
  const first = ranges.next()
  t.strictSame(chain.spans, ['1-4'], 'nobody knows how many events four such ranges would have')
  chain.asked[0]?.answer()
  t.match((await first).value, { from: 1, to: 4 })
  const second = ranges.next()
  await allAsked()
  t.strictSame(chain.spans, ['1-4', '5-12', '13-20', '21-28', '29-36'])
  chain.asked[1]?.answer()
  t.match((await second).value, { from: 5, to: 12 })
  await ranges.return(undefined)
})

void t.test('a first range that fails is still alone when it is read again', async (t) => {
  const asked: string[] = []
  const width = new RangeWidth(100, { first: 4 })
  const { signal } = new AbortController()
  const source: Pick<ChainSource, 'readRange'> = {
    readRange: (from, to) => {
      asked.push(`${from}-${to}`)
      if (to > from) return Promise.reject(new RetryableError('too wide'))
      const read = { first: header(from), last: header(to), headers: [], events: [], evidence: [] }
      return asked.length < 4 ? Promise.resolve(read) : new Promise(() => undefined)
    },
  }
  const ranges = readAhead({ from: 1, to: 9 }, { source, width, parallel: 2, signal })
  void ranges.next()
  await allAsked()
  t.strictSame(asked, ['1-4', '1-2', '1-1', '2-3', '2-2'])
})
