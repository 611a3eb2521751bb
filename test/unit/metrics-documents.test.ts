import t from 'tap'
import { documents } from '../helpers/documents.ts'
import { markdownTable } from '../helpers/markdown-table.ts'
import { knownMetrics } from '../helpers/program-metrics.ts'

void t.test('docs/metrics.md has the metrics that the programs export', (t) => {
  const rows = [...knownMetrics().values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labels, programs, help }) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(', '),
      { 1: programs[0], 2: 'both' }[programs.length] ?? 'all',
      help,
    ])
  const expected = markdownTable(['metric', 'type', 'labels', 'program', 'meaning'], rows)
  const page = documents.get('docs/metrics.md') ?? ''
  const table = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => (line.startsWith('|---') ? '| --- | --- | --- | --- | --- |' : line))
  t.equal(table.join('\n'), expected, 'the table is this one')
  t.end()
})

void t.test('every metric of ours is named and explained', (t) => {
  for (const { name, help, labels } of knownMetrics().values()) {
    t.match(name, /^(loan_activity|process|nodejs)_[a-z0-9_]+$/)
    t.ok(help.length > 5, name)
    for (const label of labels) t.match(label, /^[a-z]+$/, name)
  }
  t.end()
})
