import { execFileSync } from 'node:child_process'
import { test } from 'tap'
import { mayDouble } from '../../../indexer/heap-growth.ts'

/** Keeps some things, and others just long enough to be moved beside them: how often is all of its heap collected? */
const PROGRAM = `
import { setImmediate as turn } from 'node:timers/promises'
import { letHeapDouble } from './indexer/heap-growth.ts'
if (process.argv[1] === 'double') letHeapDouble()
const rows = (count) => Array.from({ length: count }, (_, index) => ({ text: 'row ' + index, more: [index, index + 0.5] }))
const kept = rows(100_000)
const recent = []
for (let round = 0; round < 400; round += 1) {
  recent.push(rows(8_000))
  if (recent.length > 10) recent.shift()
  await turn()
}
console.log('kept ' + kept.length)`
/** Marked at once and not by and by: how far a thread beside it has got would decide how many there are. */
const FLAGS = [
  '--max-old-space-size=400',
  '--max-semi-space-size=4',
  '--no-incremental-marking',
  '--trace-gc',
]

function collectionsOf(...args: string[]): number {
  const told = execFileSync(
    process.execPath,
    ['--import', 'tsx', ...FLAGS, '--input-type=module', '-e', PROGRAM, ...args],
    { encoding: 'utf8' },
  )
  return told.split('\n').filter((line) => line.includes('Mark-Compact')).length
}

void test('the heap may double between two full collections, up to node 23', (t) => {
  const [before, after] = [collectionsOf(), collectionsOf('double')]
  t.comment(`${before} full collections, ${after} when it may double`)
  t.ok(before >= 8, 'there is something to save')
  if (Number.parseInt(process.versions.node, 10) < 24) t.ok(after <= before * 0.7, 'a third are saved')
  else t.ok(after >= before * 0.7, 'as before')
  t.end()
})

void test('it may where it is small, before node 24', (t) => {
  const small = 240 * 2 ** 20
  for (const version of ['20.20.2', '22.0.0', '23.1.0']) t.ok(mayDouble(version, small), version)
  for (const version of ['24.0.0', '25.1.0']) t.notOk(mayDouble(version, small), version)
  t.notOk(mayDouble('22.0.0', 2 ** 31), 'two GiB')
  t.end()
})
