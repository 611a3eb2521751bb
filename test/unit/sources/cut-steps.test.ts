import fc from 'fast-check'
import t from 'tap'
import { cutSteps } from '../../../indexer/sources/cut-steps.ts'
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

void t.test('steps continue each other, lose nothing and are cut between blocks', (t) => {
  fc.assert(
    fc.property(story, ({ from, perBlock, max, allHeaders }) => {
      const headers = perBlock.map((_, index) => header(from + index))
      const to = headers.at(-1) ?? header(from)
      const events = perBlock.flatMap((count, index) =>
        Array.from({ length: count }, (_, logIndex) => event(from + index, logIndex)),
      )
      const cuts = allHeaders ? headers : headers.filter((_, index) => (perBlock[index] ?? 0) > 0)
      const evidence = [{ from, to: to.number, endpoint: 'x', check: 'bloom' as const }]
      const steps = cutSteps({ from, to, headers, events, evidence }, cuts, max)
      let next = from
      for (const step of steps) {
        if (step.from !== next || step.to.number < step.from) return false
        const blocks = new Set(step.events.map(({ blockNumber }) => blockNumber))
        if (step.events.length > max && blocks.size > 1) return false
        if ([...blocks].some((number) => number < step.from || number > step.to.number)) return false
        if (step.headers.length !== step.to.number - step.from + 1) return false
        if (step.evidence.some((item) => item.from !== step.from || item.to !== step.to.number)) return false
        next = step.to.number + 1
      }
      const all = steps.flatMap((step) => step.events)
      return (
        next === to.number + 1 && all.length === events.length && all.every((item, at) => item === events[at])
      )
    }),
  )
  t.end()
})
