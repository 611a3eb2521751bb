import t from 'tap'
import {
  checkHistory,
  type Change,
  type HistoryInput,
  type Observation,
  type ShownRecord,
} from '../../simulation/check-history.ts'

const record = (id: number, changes: Partial<ShownRecord> = {}): ShownRecord => ({
  ...{ id, txHash: `0x${id}`, event: 'CreateLoanOffer', loanId: String(id), blockchain: 'DEVNET' },
  ...{ networkId: '31337', contractAddress: null, loanType: 'ERC20FIL' },
  createdAt: new Date(1_700_000_000_000 + id * 1000).toISOString(),
  updatedAt: new Date(1_700_000_000_000 + id * 1000).toISOString(),
  ...changes,
})
const records = (from: number, to: number): ShownRecord[] =>
  Array.from({ length: to - from + 1 }, (_, index) => record(from + index))

/** Records 1 to 30; then 31 to 60 in one step; then a reorg takes 50 to 60 and brings 61. */
const changes: Change[] = [
  { position: 30, put: records(1, 30), gone: [] },
  { position: 60, put: records(31, 60), gone: [] },
  { position: 72, put: [record(61)], gone: records(50, 60).map(({ id }) => id) },
]
const at = { from: 1000, to: 1010 }
const page = (reader: number, number: number, pages: number, shown: ShownRecord[]): Observation => ({
  ...{ kind: 'page', reader, at, page: number, pages, records: shown },
})
const newest = (list: ShownRecord[]): ShownRecord[] => list.toReversed().slice(0, 25)
const before = newest(records(1, 60))
const after = newest([...records(1, 49), record(61)])

function verdict(observations: Observation[], more: Partial<HistoryInput> = {}): string[] {
  const stepEnds = new Set([30, 60, 72])
  const limits = { graceMs: 100, patienceMs: 100 }
  const input = { changes, stepEnds, observations, databaseAway: [], apiAway: [], ...limits, ...more }
  return checkHistory(input).complaints
}

void t.test('pages of states that were', (t) => {
  t.same(verdict([page(1, 1, 0, [])]), [], 'before everything')
  t.same(verdict([page(1, 1, 3, before), page(1, 1, 2, after), page(1, 2, 2, records(1, 25).reverse())]), [])
  t.same(verdict([page(1, 9, 3, [])]), [], 'past the last page')
  t.same(verdict([page(1, 1, 2, after), page(2, 1, 3, before)]), [], 'readers need not agree')
  t.end()
})

void t.test('pages of states that never were', (t) => {
  const half = newest(records(1, 45))
  t.match(verdict([page(1, 1, 2, half)]), [/no state of the history looks like this/], 'half a batch')
  const halfReorg = newest(records(1, 49))
  t.match(verdict([page(1, 1, 2, halfReorg)]), [/no state/], 'half a reorg')
  t.match(verdict([page(1, 1, 2, before)]), [/no state/], 'a number of pages of another state')
  const changed = before.map((one) => (one.id === 40 ? { ...one, event: 'Withdraw' } : one))
  t.match(verdict([page(1, 1, 3, changed)]), [/no state/], 'another text')
  t.end()
})

void t.test('nobody goes back in time', (t) => {
  t.match(verdict([page(1, 1, 2, after), page(1, 1, 3, before)]), [/an older state/])
  t.end()
})

void t.test('order within an answer', (t) => {
  t.match(verdict([page(1, 1, 3, before.toReversed())]), [/stands below/], 'ids')
  const late = before.map((one) =>
    one.id === 40 ? { ...one, createdAt: new Date(1_800_000_000_000).toISOString() } : one,
  )
  t.match(verdict([page(1, 1, 3, late)]), [/stands below/], 'times')
  t.end()
})

void t.test('loans', (t) => {
  const seen = { reader: 1, at, loanType: 'ERC20FIL' }
  const none: Observation = { ...seen, kind: 'missing loan', loanId: '61' }
  const there: Observation = { ...seen, kind: 'loan', loanId: '61', events: [record(61)] }
  t.same(verdict([none, there]), [])
  t.match(verdict([there, none]), [/an older state/])
  const wrong: Observation = { ...seen, kind: 'loan', loanId: '5', events: [record(6)] }
  t.match(verdict([wrong]), [/no state/])
  t.end()
})

void t.test('a step is written whole', (t) => {
  t.match(verdict([], { stepEnds: new Set([30, 72]) }), [/position 60, in the middle of a step/])
  t.end()
})

void t.test('only 503, and only while the database is away', (t) => {
  const failure = (status: number): Observation => ({
    ...{ kind: 'failure', reader: 1, at, url: '/api/activity/history', status, body: 'away' },
  })
  const away = [{ from: 900, to: 950 }]
  t.same(verdict([failure(503)], { databaseAway: away }), [], 'within the grace')
  t.match(verdict([failure(503)], { databaseAway: away, graceMs: 10, patienceMs: 100 }), [/503/], 'after it')
  t.match(verdict([failure(503)]), [/history: 503 away/])
  t.match(verdict([failure(500)], { databaseAway: away }), [/500/])
  t.match(verdict([failure(0)], { databaseAway: away }), [/0 away/], 'no answer at all')
  t.end()
})

void t.test('a refusal for load is excused once in a thousand answers', (t) => {
  const body = 'the API has more to do than it can: try again'
  const refused: Observation = { kind: 'failure', reader: 1, at, url: '/', status: 503, body }
  const answers = Array.from({ length: 2_000 }, () => page(1, 1, 2, after))
  t.same(verdict([refused, ...answers, refused]), [])
  t.equal(verdict([refused, refused, ...answers, refused]).length, 3)
  t.match(verdict([{ ...refused, status: 500 }, ...answers]), [/500/])
  t.end()
})

void t.test('once the database is back, every reader is answered soon', (t) => {
  const away = [{ from: 900, to: 1000 }]
  const shown = (reader: number, from: number, to: number): Observation => ({
    ...{ kind: 'page', reader, at: { from, to }, page: 1, pages: 0, records: [] },
  })
  const refused = (reader: number, from: number, to: number): Observation => ({
    ...{ kind: 'failure', reader, at: { from, to }, url: '/', status: 503, body: 'away' },
  })
  const late = [refused(1, 990, 1010), shown(1, 1010, 1200)]
  t.match(verdict(late, { databaseAway: away }), [
    /^reader 1 got no answer for 200 ms after the database was back/,
  ])
  t.same(verdict(late, { databaseAway: away, patienceMs: 200 }), [], 'soon enough')
  t.same(verdict(late, { databaseAway: away, apiAway: [{ from: 1050, to: 1150 }] }), [], 'without an API')
  t.same(verdict(late, { databaseAway: [...away, { from: 1060, to: 1190 }] }), [], 'gone again meanwhile')
  t.same(
    verdict([shown(1, 990, 1090), ...late.map((one) => ({ ...one, reader: 2 }))], { databaseAway: away })
      .length,
    1,
  )
  t.same(verdict([refused(1, 990, 1090)], { databaseAway: away }), [], 'who asked no more')
  t.match(
    verdict([refused(1, 990, 1090), refused(1, 1090, 1110)], { databaseAway: away }),
    [/reader 1 got no answer after/],
    'never',
  )
  t.end()
})

void t.test('ids and times in the order in which records appear', (t) => {
  const states = (...puts: ShownRecord[][]): string[] =>
    verdict([], {
      changes: puts.map((put, index) => ({ position: index, put, gone: [] })),
      stepEnds: new Set(puts.map((_, index) => index)),
    })
  t.same(states([record(2), record(1)], [record(1, { event: 'Withdraw' })], [record(3)]), [])
  t.match(states([record(2)], [record(1)]), [/record 1 of .* appeared after 2 of/], 'a lower id, later')
  const earlier = new Date(0).toISOString()
  t.match(states([record(1)], [record(2, { createdAt: earlier })]), [/record 2 of 1970.* appeared after 1/])
  t.match(states([record(1)], [record(1, { createdAt: earlier })]), [/record 1 was created at .* and again/])
  t.end()
})
