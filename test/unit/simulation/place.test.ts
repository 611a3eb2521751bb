import t from 'tap'
import { shortened } from '../../simulation/place.ts'

void t.test('a statement by its verb and its first table', (t) => {
  for (const [query, place] of [
    ['begin', 'begin'],
    ['commit', 'commit'],
    ['insert into "ledger"."event_log" ("position") values ($1)', 'insert ledger.event_log'],
    ['copy "ledger"."event_log" ("position") from stdin', 'copy ledger.event_log'],
    ['with rows as (select 1) update projection.loans set x = 1', 'select projection.loans'],
    ['SELECT "queue".add_job($1)', 'select queue.add_job'],
    ['LISTEN x', 'statement'],
  ] as const) {
    t.equal(shortened(query), place)
  }
  t.end()
})
