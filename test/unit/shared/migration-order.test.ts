import { readdirSync } from 'node:fs'
import t from 'tap'

/** What databases may have carried out already, in its order. New ones come after all of these: add them here. */
const LANDED = [
  '2026-11-21-event-log-and-read-model.ts',
  '2026-11-21-loans-by-their-own-columns.ts',
  '2026-11-21-records-of-gone-channels.ts',
  '2026-11-22-log-without-copies.ts',
  '2026-11-22-records-of-a-kind.ts',
  '2026-11-22-the-log-by-its-keys.ts',
  '2026-11-22-what-a-kind-says-as-json.ts',
  '2026-11-23-bodies-as-json.ts',
]

void t.test('a migration comes after those that databases have, by name', (t) => {
  const names = readdirSync(new URL('../../../migrations/', import.meta.url)).sort()
  t.same(names.slice(0, LANDED.length), LANDED)
  t.end()
})
