import fc from 'fast-check'
import t from 'tap'
import type { DailyFigures, NetworkHealth, ProvenanceAnswer } from '../../../client/generated/types.gen.ts'
import { daysOf, stacked } from '../../../api/page/views/status/daily.ts'
import { reorgsOf } from '../../../api/page/views/status/reorgs.ts'
import {
  lagSummary,
  MOST_SAMPLES,
  withSamples,
  type Samples,
} from '../../../api/page/views/status/samples.ts'
import { roundTimes, timeText } from '../../../api/page/views/status/time-axis.ts'
import { isDevnet, tellingRecord } from '../../../api/page/views/tour/devnet.ts'
import { recordOf } from '../../helpers/page-loans.ts'

function health(network: string, lagSeconds: number | null): NetworkHealth {
  return { network, head: 9, indexed: 8, finalized: 1, lagSeconds } as NetworkHealth
}

void t.test('the charts keep a quarter of an hour of each network', (t) => {
  let samples: Samples = {}
  for (let at = 0; at < MOST_SAMPLES + 50; at += 1) samples = withSamples(samples, [health('a', at)], at)
  samples = withSamples(samples, [health('b', null)], 1000)
  t.equal(samples['a']?.length, MOST_SAMPLES)
  t.equal(samples['a']?.at(-1)?.lagSeconds, MOST_SAMPLES + 49)
  t.equal(samples['b']?.length, 1)
  t.match(lagSummary(samples['a'] ?? []), /274 s, and was at most 274 s/)
  t.equal(lagSummary(samples['b'] ?? []), 'The lag is not known.')
  t.end()
})

type Origin = ProvenanceAnswer['payload']
function origin(network: string | null, history: Partial<Origin['history'][number]>[] = []): Origin {
  const entry = {
    position: 1,
    op: 'append',
    block: 1,
    hash: null,
    recordedAt: '2026-11-28T19:00:00.000Z',
    cause: null,
  }
  return {
    record: recordOf(7, 'Withdraw'),
    network,
    history: history.map((given) => ({ ...entry, ...given })),
  } as Origin
}

void t.test('only what a reorg did counts as one, the newest first', (t) => {
  const reorg = { cause: 'reorg' }
  const traces = reorgsOf([
    origin('evm:1', [{}, { op: 'replace', recordedAt: '2026-11-28T19:00:01.000Z', ...reorg }]),
    origin('evm:1', [
      { op: 'replace', cause: 'reindex' },
      { op: 'retract', recordedAt: '2026-11-28T19:00:02.000Z', ...reorg },
    ]),
  ])
  t.strictSame(
    traces.map(({ op }) => op),
    ['retract', 'replace'],
  )
  t.end()
})

function row(day: string, given: Partial<DailyFigures> = {}): DailyFigures {
  const counts = { opened: 0, closed: 0, seized: 0, cancelled: 0, open: 0 }
  const token = { networkId: '1', token: '0x', symbol: null, decimals: null, principal: null }
  return { day, loanType: 'ERC20FIL', ...token, ...counts, ...given }
}

void t.test('a day without a row has zeros, and the rows of a day are summed', (t) => {
  const days = daysOf([
    row('2026-11-20', { opened: 3, closed: 1 }),
    row('2026-11-20', { opened: 2, loanType: 'FILERC20', seized: 4 }),
    row('2026-11-28', { cancelled: 1 }),
  ])
  t.equal(days.at.length, 9)
  t.strictSame(days.opened, [5, 0, 0, 0, 0, 0, 0, 0, 0])
  t.strictSame(
    stacked(days).map(([first]) => first),
    [5, 5, 1],
  )
  t.strictSame(
    stacked(days).map((counts) => counts.at(-1)),
    [1, 0, 0],
  )
  t.equal(daysOf([row('2026-11-28')]).at.length, 7, 'a week at least')
  t.equal(daysOf([row('2020-01-01'), row('2026-11-28')]).at.length, 366, 'a year at most')
  t.strictSame(daysOf([]).at, [])
  t.end()
})

void t.test('labels are round, within the chart, and not too many', (t) => {
  const spans = fc.tuple(
    fc.integer({ min: 1, max: 2e9 }),
    fc.integer({ min: 10, max: 3e7 }),
    fc.boolean(),
    fc.integer({ min: 2, max: 14 }),
  )
  fc.assert(
    fc.property(spans, ([from, span, isDaily, most]) => {
      const times = roundTimes(from, from + span, isDaily, most)
      return times.length <= most && times.every((at) => at >= from && at <= from + span)
    }),
  )
  t.equal(timeText(Date.parse('2026-11-28T00:00:00Z') / 1000, true), '28 Nov')
  t.end()
})

void t.test('the tour knows a devnet, and points at the most telling loan', (t) => {
  t.equal(isDevnet([{ networkId: 'testnet' }, { networkId: '31337' }]), true)
  t.equal(isDevnet([{ networkId: '1' }]), false)
  const records = [recordOf(3, 'Withdraw'), recordOf(2, 'LendFIL/RedeemPaybackVoucher')]
  t.equal(tellingRecord(records)?.id, 2)
  t.equal(tellingRecord([recordOf(9, 'Payback')])?.id, 9)
  t.equal(tellingRecord([]), undefined)
  t.end()
})
