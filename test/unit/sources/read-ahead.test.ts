import t from 'tap'
import { RetryableError } from '../../../shared/errors.ts'
import { RangeWidth } from '../../../indexer/sources/block-ranges.ts'
import type { ChainSource, RangeRead } from '../../../indexer/sources/chain-source.ts'
import { readAhead, type PlacedRead } from '../../../indexer/sources/read-ahead.ts'

const header = (number: number): RangeRead['first'] => ({
  ...{ number, hash: `0x${number}`, parentHash: `0x${number - 1}`, timeS: number },
})

const EVENT: RangeRead['events'][number] = {
  blockNumber: 1,
  blockHash: '0x1',
  blockTimeS: 1,
  txHash: '0x1',
  logIndex: 0,
  txLogIndex: 0,
  contract: '0x',
  role: 'erc20Loans',
  kind: 'Undecodable',
  reason: '',
  topics: [],
  dataHead: '0x',
  dataBytes: 0,
}

const allAsked = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** A chain whose reads end when they are told to. */
class SlowChain {
  readonly asked: { from: number; to: number; answer: (events?: number) => void }[] = []

  readonly source: Pick<ChainSource, 'readRange'> = {
    readRange: (from, to) =>
      new Promise((resolve) => {
        this.asked.push({
          from,
          to,
          answer: (count = 0) => {
            const events = Array.from({ length: count }, () => EVENT)
            resolve({ first: header(from), last: header(to), cuts: [], events, evidence: [] })
          },
        })
      }),
  }

  get spans(): string[] {
    return this.asked.map(({ from, to }) => `${from}-${to}`)
  }

  /** Four ranges at once, about 500 events each, the first of four blocks. */
  readFrom1To(
    to: number,
    signal = new AbortController().signal,
    isTight = () => false,
  ): AsyncGenerator<PlacedRead> {
    const width = new RangeWidth(100, { first: 4, targetEvents: 500 })
    return readAhead({ from: 1, to }, { source: this.source, width, parallel: 4, signal, isTight })
  }
}

void t.test('the first range is read alone, and as many as are allowed once it is known', async (t) => {
  const chain = new SlowChain()
  const ranges = chain.readFrom1To(1_000)
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

void t.test('where there is no room one range is read at a time, for as long as there is none', async (t) => {
  const chain = new SlowChain()
  let tight = true
  const ranges = chain.readFrom1To(1_000, undefined, () => tight)
  for (const span of ['1-4', '5-12', '13-28']) {
    const next = ranges.next()
    await allAsked()
    t.equal(chain.spans.at(-1), span)
    chain.asked.at(-1)?.answer()
    await next
  }
  t.equal(chain.asked.length, 3)
  tight = false
  void ranges.next()
  await allAsked()
  t.equal(chain.asked.length, 3 + 4)
})

void t.test('a first range that fails is read again in narrower ones, and still alone', async (t) => {
  const asked: string[] = []
  const width = new RangeWidth(100, { first: 4 })
  const { signal } = new AbortController()
  const source: Pick<ChainSource, 'readRange'> = {
    readRange: (from, to) => {
      asked.push(`${from}-${to}`)
      if (to > from) return Promise.reject(new RetryableError('too wide'))
      const read = { first: header(from), last: header(to), cuts: [], events: [], evidence: [] }
      return asked.length < 4 ? Promise.resolve(read) : new Promise(() => undefined)
    },
  }
  const ranges = readAhead({ from: 1, to: 9 }, { source, width, parallel: 2, signal })
  void ranges.next()
  await allAsked()
  t.strictSame(asked, ['1-4', '1-2', '1-1', '2-3', '2-2'])
})

void t.test('ranges are narrow from the second on where the first has many events', async (t) => {
  const chain = new SlowChain()
  const ranges = chain.readFrom1To(1_000)
  const first = ranges.next()
  chain.asked[0]?.answer(2_000)
  t.match((await first).value, { from: 1, to: 4 })
  void ranges.next()
  await allAsked()
  t.strictSame(chain.spans, ['1-4', '5-5', '6-6', '7-7', '8-8'])
})

void t.test('once it is aborted nothing more is asked, however much is left', async (t) => {
  const chain = new SlowChain()
  const stop = new AbortController()
  const ranges = chain.readFrom1To(1_000_000, stop.signal)
  void ranges.next()
  stop.abort()
  chain.asked[0]?.answer()
  t.strictSame(await ranges.next(), { done: true, value: undefined })
  t.strictSame(chain.spans, ['1-4'])
})
