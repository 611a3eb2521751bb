import fc from 'fast-check'
import t from 'tap'
import { encodeStep, joinSteps, textOf, type EncodedStep } from '../../../../indexer/queue/join-steps.ts'
import type { BlocksStep, ChainStep, RangeEvidence } from '../../../../shared/events/chain-step.ts'
import { RandomChain } from '../../../helpers/random-chain.ts'

const ANY = { events: Infinity, bytes: Infinity, blocks: Infinity, ranges: Infinity }

function join(first: ChainStep, second: ChainStep, most = ANY): BlocksStep | undefined {
  const joined = joinSteps(encodeStep(first), encodeStep(second), most)
  return joined && (JSON.parse(textOf(joined)) as BlocksStep)
}

void t.test('blocks that follow blocks are one step, of the same blocks, events and headers', (t) => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 6 }),
      (seed, lengths) => {
        const chain = new RandomChain(seed)
        const steps = lengths.map((length) => chain.grow(length))
        const encoded = steps.map(encodeStep)
        const whole = encoded.reduce<EncodedStep | undefined>(
          (all, step) => (all === undefined ? step : joinSteps(all, step, ANY)),
          undefined,
        )
        if (whole === undefined) throw new Error('not joined')
        const joined = JSON.parse(textOf(whole)) as BlocksStep
        const events = steps.flatMap((step) => step.events)
        t.same(joined.after, steps[0]?.after)
        t.equal(joined.from, steps[0]?.from)
        t.same(joined.to, steps.at(-1)?.to)
        t.same(joined.events, JSON.parse(JSON.stringify(events)))
        t.same(
          joined.headers,
          steps.flatMap(({ headers }) => headers),
        )
        t.equal(whole.count, events.length)
        t.equal(
          Object.values(whole.kinds).reduce((sum, count) => sum + count, 0),
          events.length,
        )
        t.equal(
          whole.bytes,
          encoded.reduce((sum, { bytes }) => sum + bytes, 0),
        )
      },
    ),
  )
  t.end()
})

void t.test('what does not follow, is no blocks or is too much stays by itself', (t) => {
  const chain = new RandomChain(3)
  const first = chain.grow(5)
  const second = chain.grow(5)
  const events = first.events.length + second.events.length
  const bytes = encodeStep(first).bytes + encodeStep(second).bytes
  t.ok(first.events.length > 0 && second.events.length > 0)
  t.equal(join(first, second, { ...ANY, events })?.events.length, events)
  t.equal(join(first, second, { ...ANY, events: events - 1 }), undefined)
  t.ok(join(first, second, { ...ANY, bytes }))
  t.equal(join(first, second, { ...ANY, bytes: bytes - 1 }), undefined)
  t.equal(join(first, second, { ...ANY, blocks: 10 })?.to.number, 10)
  t.equal(join(first, second, { ...ANY, blocks: 9 }), undefined)
  t.equal(join(second, first), undefined)
  t.equal(join(first, { ...second, after: { ...first.to, hash: '0xother' } }), undefined)
  t.equal(join(first, { ...second, after: null }), undefined)
  t.equal(join(first, chain.reorg(2, 3)), undefined)
  t.equal(join(first, { type: 'finalized', block: first.to }), undefined)
  t.equal(join({ type: 'finalized', block: first.to }, second), undefined)
  t.end()
})

void t.test('ranges that touch and were checked alike are one', (t) => {
  const chain = new RandomChain(3)
  const evidence = (from: number, to: number, given: Partial<RangeEvidence> = {}): RangeEvidence => ({
    ...{ from, to, endpoint: 'a', check: 'bloom' as const },
    ...given,
  })
  const first = { ...chain.grow(4), evidence: [evidence(1, 2), evidence(3, 4, { check: 'one' })] }
  const second = { ...chain.grow(4), evidence: [evidence(5, 6, { check: 'one' }), evidence(7, 8)] }
  t.same(join(first, second)?.evidence, [evidence(1, 2), evidence(3, 6, { check: 'one' }), evidence(7, 8)])
  const other = { ...second, evidence: [evidence(5, 8, { check: 'one', endpoint: 'b' })] }
  t.equal(join(first, other, { ...ANY, ranges: 3 })?.evidence.length, 3)
  t.equal(join(first, other, { ...ANY, ranges: 2 }), undefined, 'each is some statements')
  t.end()
})
