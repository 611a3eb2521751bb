import t from 'tap'
import { changesFor } from '../../../api/stream/record-filter.ts'
import type { RecordEvent } from '../../../shared/events/record-event.ts'

const change = (event: RecordEvent['event'], loanId: string, loanType = 'ERC20FIL'): RecordEvent => ({
  ...{ id: '7', position: 7, event },
  record: { id: 7_000_000, loanId, loanType },
})

void t.test('a filter passes what fits each field, and tells what no longer fits as retracted', (t) => {
  const filter = { loanId: ['1', '2'], loanType: ['ERC20FIL'], event: undefined }
  const cases: [given: RecordEvent, told: RecordEvent['event'] | null][] = [
    [change('record', '1'), 'record'],
    [change('changed', '2'), 'changed'],
    [change('retracted', '2'), 'retracted'],
    [change('record', '3'), null],
    [change('record', '1', 'FILERC20'), null],
    [change('retracted', '3'), null],
    [change('changed', '3'), 'retracted'],
  ]
  for (const [given, told] of cases) {
    const { event, record } = given
    const expected = told === null ? [] : [{ ...given, event: told }]
    t.same(changesFor(filter, [given]), expected, `${event} ${JSON.stringify(record)}`)
  }
  t.end()
})
