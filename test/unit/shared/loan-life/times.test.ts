import fc from 'fast-check'
import t from 'tap'
import { basisOf, chainTime, isoOf, isOver, secondsOfEpoch } from '../../../../shared/loan-life/times.ts'

const EVM = { network: 'evm:1', height: 100, timeS: 1_700_000_000, secondsPerHeight: 12 }
const FILECOIN = { network: 'filecoin:testnet', height: 1000, timeS: 1_700_000_000, secondsPerHeight: 30 }
const NEVER = 9_223_372_036_854_775_807n

void t.test('a block is the first one from a start, and the last one until an end', (t) => {
  const at = (seconds: bigint, end: 'from' | 'until') => chainTime(seconds, end, 'evm:1', EVM)
  t.same(at(1_700_000_013n, 'from'), { time: '2023-11-14T22:13:33.000Z', block: 102 })
  t.same(at(1_700_000_013n, 'until'), { time: '2023-11-14T22:13:33.000Z', block: 101 })
  t.same(at(1_699_999_988n, 'until'), { time: '2023-11-14T22:13:08.000Z', block: 99 })
  t.match(chainTime(0n, 'until', 'evm:1', EVM), { block: 0 }, 'no block comes before the first')
  t.match(chainTime(5n, 'from', 'evm:1', { ...EVM, secondsPerHeight: null }), { block: null })
  t.match(chainTime(5n, 'from', 'evm:1', undefined), { block: null })
  t.end()
})

void t.test('an epoch is exact, and its time follows from the distance of epochs', (t) => {
  t.same(chainTime(1010n, 'from', 'filecoin:testnet', FILECOIN), {
    time: '2023-11-14T22:18:20.000Z',
    epoch: 1010,
  })
  t.equal(secondsOfEpoch(998n, { ...FILECOIN, secondsPerHeight: 2 }), 1_699_999_996n)
  t.end()
})

void t.test('no limit, and one beyond the year 9999, are null', (t) => {
  for (const [network, clock] of [
    ['evm:1', EVM],
    ['filecoin:testnet', FILECOIN],
  ] as const) {
    t.equal(chainTime(null, 'until', network, clock), null)
    t.equal(chainTime(NEVER, 'until', network, clock), null)
    t.equal(isOver({ from: null, until: NEVER }, network, clock), false)
    t.equal(isOver({ from: NEVER, until: null }, network, clock), true, 'it never begins')
    t.equal(isOver({ from: 5n, until: 4n }, network, clock), true)
    t.equal(isOver({ from: null, until: null }, network, clock), false)
    t.equal(isOver({ from: null, until: 5n }, network, undefined), false, 'nothing is indexed')
  }
  t.end()
})

void t.test('an action is over when the next block comes too late for it', (t) => {
  const evm = (until: bigint) => isOver({ from: null, until }, 'evm:1', EVM)
  t.same([evm(1_700_000_000n), evm(1_699_999_999n)], [false, true], 'two blocks can have one time')
  const filecoin = (until: bigint) => isOver({ from: null, until }, 'filecoin:testnet', FILECOIN)
  t.same([filecoin(1001n), filecoin(1000n)], [false, true], 'an indexed tipset is executed')
  t.end()
})

void t.test('the basis names the last indexed block', (t) => {
  const time = '2023-11-14T22:13:20.000Z'
  t.same(basisOf('evm:1', EVM), { network: 'evm:1', block: 100, time, secondsPerBlock: 12 })
  t.same(basisOf('filecoin:testnet', { ...FILECOIN, secondsPerHeight: null }), {
    ...{ network: 'filecoin:testnet', epoch: 1000, time, secondsPerEpoch: 30 },
  })
  t.equal(basisOf('evm:1', undefined), null)
  t.end()
})

void t.test('any time of any clock gives ISO text or null, and windows keep their order', (t) => {
  const number = fc.bigInt(-(2n ** 63n), 2n ** 64n)
  const clock = fc.record({
    network: fc.constantFrom('evm:1', 'filecoin:testnet'),
    height: fc.nat(),
    timeS: fc.nat(4_000_000_000),
    secondsPerHeight: fc.option(fc.double({ min: 0.001, max: 100, noNaN: true })),
  })
  fc.assert(
    fc.property(number, number, clock, (a, b, at) => {
      const iso = isoOf(a)
      t.ok(iso === null || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/.test(iso))
      const [from, until] = a < b ? [a, b] : [b, a]
      const [first, last] = [
        chainTime(from, 'from', at.network, at),
        chainTime(until, 'until', at.network, at),
      ]
      return first === null || last === null || first.time <= last.time
    }),
  )
  t.end()
})
