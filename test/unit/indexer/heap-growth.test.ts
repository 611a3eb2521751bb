import { execFileSync } from 'node:child_process'
import { test } from 'tap'
import { letHeapDouble } from '../../../indexer/heap-growth.ts'

/** Keeps some things, and others just long enough to be moved beside them: how often is all of its heap collected? */
const PROGRAM = `
import { PerformanceObserver, constants } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { letHeapDouble } from './indexer/heap-growth.ts'
if (process.argv[1] === 'double') letHeapDouble()
let collections = 0
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) {
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections += 1
  }
}).observe({ entryTypes: ['gc'] })
const rows = (count) => Array.from({ length: count }, (_, index) => ({ text: 'row ' + index, more: [index, index + 0.5] }))
const kept = rows(100_000)
const recent = []
for (let round = 0; round < 400; round += 1) {
  recent.push(rows(8_000))
  if (recent.length > 10) recent.shift()
  await turn()
}
console.log(JSON.stringify({ collections, kept: kept.length }))`

function collectionsOf(...args: string[]): number {
  const flags = ['--import', 'tsx', '--max-old-space-size=400', '--max-semi-space-size=4']
  const out = execFileSync(process.execPath, [...flags, '--input-type=module', '-e', PROGRAM, ...args], {
    encoding: 'utf8',
  })
  return (JSON.parse(out) as { collections: number }).collections
}

void test('the heap may double between two full collections, up to node 23', (t) => {
  const [before, after] = [collectionsOf(), collectionsOf('double')]
  const isAllowed = Number.parseInt(process.versions.node, 10) < 24
  t.comment(`${before} full collections, ${after} when it may double`)
  if (isAllowed) t.ok(after <= before * 0.8, `${after} are fewer than ${before}`)
  else t.ok(after > before * 0.5, 'as before')
  t.end()
})

void test('node 24 keeps its own way', (t) => {
  t.equal(letHeapDouble('24.0.0'), false)
  t.equal(letHeapDouble('25.1.0'), false)
  t.end()
})
