import t from 'tap'
import { changed, neighbours, newestOf } from '../../../api/page/views/activity/pages.ts'
import { recordOf } from '../../helpers/page-loans.ts'

const records = [9, 7, 5].map((id) => recordOf(id, 'Withdraw'))
const page = { records, next: 3, isLive: false, isFromBelow: false }

void t.test('an older page begins where the API says', (t) => {
  t.same(neighbours(page, records), { older: 3, newer: 9 })
  t.same(neighbours({ ...page, next: null }, records), { older: undefined, newer: 9 })
  t.same(
    neighbours({ ...page, records: [] }, []),
    { older: 3, newer: undefined },
    'an empty page has a next one',
  )
  t.end()
})

void t.test('a page read upwards has its records below it', (t) => {
  const upwards = { ...page, next: 12, isFromBelow: true }
  t.same(neighbours(upwards, records), { older: 5, newer: 12 })
  t.same(neighbours({ ...upwards, next: null }, records), { older: 5, newer: undefined })
  t.same(neighbours({ ...upwards, records: [] }, []), { older: undefined, newer: 12 })
  t.end()
})

void t.test('records that new ones pushed out of sight are on the older page', (t) => {
  const shown = [recordOf(11, 'Payback'), ...records.slice(0, 2)]
  t.same(neighbours({ ...page, next: null, isLive: true }, shown), { older: 7, newer: undefined })
  t.end()
})

void t.test('new is what comes after the page, and the API takes no id below 1', (t) => {
  t.equal(newestOf(page, records), 9)
  t.equal(newestOf(page, []), 3)
  t.equal(newestOf({ next: null }, []), 1)
  t.end()
})

void t.test('a changed record stays with what it says now, a retracted one goes', (t) => {
  const moved = recordOf(7, 'Payback')
  const now = changed(
    records,
    new Map([
      [7, moved],
      [5, null],
      [1, null],
    ] as const),
  )
  t.same(now, [records[0], moved])
  t.end()
})
