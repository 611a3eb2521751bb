import fc from 'fast-check'
import t from 'tap'
import { cutStretch } from '../../../indexer/sources/cut-stretch.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import type { BlockHeader } from '../../../shared/events/chain-step.ts'

const header = (number: number): BlockHeader => ({
  number,
  hash: `b${number}`,
  parentHash: `b${number - 1}`,
  timeS: number,
})
const event = (blockNumber: number, logIndex: number): ChainEvent => ({
  kind: 'Undecodable',
  blockNumber,
  logIndex,
  blockHash: `b${blockNumber}`,
  blockTimeS: blockNumber,
  txHash: `t${blockNumber}`,
  txLogIndex: logIndex,
  contract: '0x',
  role: 'erc20Loans',
  reason: '',
  topics: [],
  dataHead: '0x',
  dataBytes: 0,
})

const story = fc.record({
  from: fc.nat(1000),
  perBlock: fc.array(fc.nat(20), { minLength: 1, maxLength: 60 }),
  max: fc.integer({ min: 1, max: 40 }),
  allHeaders: fc.boolean(),
})

void t.test('pieces continue each other, lose nothing and are cut between blocks', (t) => {
  fc.assert(
    fc.property(story, ({ from, perBlock, max, allHeaders }) => {
      const headers = perBlock.map((_, index) => header(from + index))
      const to = headers.at(-1) ?? header(from)
      const events = perBlock.flatMap((count, index) =>
        Array.from({ length: count }, (_, logIndex) => event(from + index, logIndex)),
      )
      const cuts = allHeaders ? headers : headers.filter((_, index) => (perBlock[index] ?? 0) > 0)
      const evidence = [{ from, to: to.number, endpoint: 'x', check: 'bloom' as const }]
      const pieces = cutStretch({ from, to, headers, events, evidence }, cuts, max)
      let next = from
      for (const piece of pieces) {
        if (piece.from !== next || piece.to.number < piece.from) return false
        const blocks = new Set(piece.events.map(({ blockNumber }) => blockNumber))
        if (piece.events.length > max && blocks.size > 1) return false
        if ([...blocks].some((number) => number < piece.from || number > piece.to.number)) return false
        if (piece.headers.length !== piece.to.number - piece.from + 1) return false
        if (piece.evidence.some((item) => item.from !== piece.from || item.to !== piece.to.number))
          return false
        next = piece.to.number + 1
      }
      const all = pieces.flatMap((piece) => piece.events)
      return (
        next === to.number + 1 && all.length === events.length && all.every((item, at) => item === events[at])
      )
    }),
  )
  t.end()
})
