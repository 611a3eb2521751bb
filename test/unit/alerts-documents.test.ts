import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { alertRules } from '../helpers/alert-rules.ts'
import { documents } from '../helpers/documents.ts'
import { documentedHealth } from '../helpers/health-answers.ts'
import { knownMetrics } from '../helpers/program-metrics.ts'

/** Metrics of Prometheus itself and of node_exporter. */
const FOREIGN = ['up', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes']
const METRIC = /\b(?:loan_activity|process|nodejs|node)_[a-z0-9_]+|\bup\b/g

/** The metrics of an expression that nobody exports. */
function unknownIn(expression: string): string[] {
  const known = knownMetrics()
  return [...expression.matchAll(METRIC)]
    .map(([name]) => name)
    .filter((name) => {
      const base = name.replace(/_(bucket|sum|count)$/, '')
      const isHistogram = base !== name && known.get(base)?.type === 'histogram'
      return (
        !FOREIGN.includes(name) && !isHistogram && !(known.has(name) && known.get(name)?.type !== 'histogram')
      )
    })
}

void t.test('every alert reads metrics that exist and has its entry in the runbook', (t) => {
  const anchors = new Map(
    [...documents].map(([path, text]) => [
      path,
      [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-')),
    ]),
  )
  const rules = alertRules()
  t.ok(rules.length > 15)
  for (const { alert, expr, annotations } of rules) {
    t.same(unknownIn(expr), [], `${alert}: ${expr}`)
    t.ok(expr.match(METRIC), alert)
    const [page = '', anchor = ''] = annotations.runbook_url.split('#')
    t.equal(anchor, alert.toLowerCase())
    t.ok(anchors.get(page)?.includes(anchor), annotations.runbook_url)
  }
  const entries = (anchors.get('docs/operations.md') ?? []).filter((anchor) =>
    anchor.startsWith('loanactivity'),
  )
  t.same(
    entries.sort(),
    rules.map(({ alert }) => alert.toLowerCase()).sort(),
    'no entry is of an alert that is gone',
  )
  t.end()
})

/** The tests that provoke alerts by real programs. */
function provokingTests(): string {
  const folder = new URL('../e2e/', import.meta.url)
  const names = readdirSync(folder).filter((name) => /^alerts.*\.test\.ts$/.test(name))
  return names.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n')
}

void t.test('each state whose answers docs/operations.md has is brought about by a test', (t) => {
  const states = [...documentedHealth().keys()]
  t.ok(states.length > 15)
  for (const state of states) t.match(provokingTests(), `'${state}'`)
  t.end()
})

void t.test('docs/operations.md names the alerts that no test provokes by real programs', (t) => {
  const provoked = [...provokingTests().matchAll(/'(LoanActivity\w+)'/g)].map(([, name = '']) => name)
  const [, table = ''] = (documents.get('docs/operations.md') ?? '').split(
    '| not provoked by real programs | why |\n',
  )
  const [rows = ''] = table.split('\n\n')
  const named = [...rows.matchAll(/^\| `(LoanActivity\w+)` \|/gm)].map(([, name = '']) => name)
  t.same(
    [...new Set(provoked), ...named].sort(),
    alertRules()
      .map(({ alert }) => alert)
      .sort(),
  )
  t.end()
})

interface Panel {
  title: string
  type: string
  targets?: { expr: string }[]
}

void t.test('every expression of the dashboard reads metrics that exist', (t) => {
  const file = new URL('../../deploy/grafana-dashboard.json', import.meta.url)
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: Panel[] }
  t.ok(panels.length > 10)
  const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n')
  for (const { name } of knownMetrics().values())
    if (name.startsWith('loan_activity_')) t.match(shown, name, 'each metric of ours is shown')
  for (const { title, type, targets = [] } of panels) {
    t.ok(type === 'row' || targets.length > 0, title)
    for (const { expr } of targets) {
      t.ok(expr.match(METRIC), `${title}: ${expr}`)
      t.same(unknownIn(expr), [], `${title}: ${expr}`)
    }
  }
  t.end()
})
