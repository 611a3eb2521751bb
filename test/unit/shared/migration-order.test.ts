import { readdirSync } from 'node:fs'
import t from 'tap'

void t.test('migrations are numbered from 0001 on, without gaps', (t) => {
  const names = readdirSync(new URL('../../../migrations/', import.meta.url)).sort()
  t.ok(names.length > 0)
  for (const [index, name] of names.entries())
    t.match(name, new RegExp(`^${String(index + 1).padStart(4, '0')}-[a-z0-9-]+\\.ts$`))
  t.end()
})
