import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { test } from 'tap'
import { isBetterLate, mayDouble } from '../../../indexer/v8-settings.ts'
import { scriptFlags } from '../../helpers/script-flags.ts'

const MAJOR = Number.parseInt(process.versions.node, 10)

/** Keeps some things, and others just long enough to be moved beside them: how often is all of its heap collected? */
const KEEPING = `
import { setImmediate as turn } from 'node:timers/promises'
import { settleV8 } from './indexer/v8-settings.ts'
if (process.argv[1] === 'settled') settleV8()
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
const COUNTING_COLLECTIONS = [
  '--max-old-space-size=400',
  '--max-semi-space-size=4',
  '--no-incremental-marking',
  '--trace-gc',
]

/** Calls each of two hundred functions for a while: as often as the code of a backfill's first second. */
const CALLING = `
import { settleV8 } from './indexer/v8-settings.ts'
if (process.argv[1] === 'settled') settleV8()
const add = (number) => new Function('list', 'let sum = ' + number + '; for (const one of list) sum += one; return sum')
const functions = Array.from({ length: 200 }, (_, index) => add(index))
const list = Array.from({ length: 100 }, (_, index) => index)
let sum = 0
for (let round = 0; round < 200; round += 1) for (const one of functions) sum += one(list)
console.log('added ' + sum)`
/** At once and not beside the thread: how far that has got would decide how many there are. */
const COUNTING_OPTIMIZED = ['--no-concurrent-recompilation', '--trace-opt']

/** Asks a server as often as a backfill's first seconds do. */
const ASKING = `
import { createServer } from 'node:http'
import { once } from 'node:events'
import { request } from 'undici'
const server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
await once(server, 'listening')
const url = 'http://127.0.0.1:' + server.address().port
for (let asked = 0; asked < 1500; asked += 1) await (await request(url)).body.text()
server.close()
server.closeAllConnections()`

function linesOf(program: string, flags: string[], said: string, ...args: string[]): number {
  const told = execFileSync(
    process.execPath,
    ['--import', 'tsx', ...flags, '--input-type=module', '-e', program, ...args],
    { encoding: 'utf8', maxBuffer: 2 ** 28 },
  )
  return told.split('\n').filter((line) => line.includes(said)).length
}

void test('the heap may double between two full collections, up to node 23', (t) => {
  const collections = (...args: string[]): number =>
    linesOf(KEEPING, COUNTING_COLLECTIONS, 'Mark-Compact', ...args)
  const [before, after] = [collections(), collections('settled')]
  t.comment(`${before} full collections, ${after} when it may double`)
  t.ok(before >= 8, 'there is something to save')
  if (MAJOR < 24) t.ok(after <= before * 0.7, 'a third are saved')
  else t.ok(after >= before * 0.7, 'as before')
  t.end()
})

void test('functions that were called for a while are not optimized yet, before node 22', (t) => {
  const optimized = (...args: string[]): number =>
    linesOf(CALLING, COUNTING_OPTIMIZED, 'completed compiling', ...args)
  const [before, after] = [optimized(), optimized('settled')]
  t.comment(`${before} functions optimized, ${after} when late`)
  t.ok(before >= 200, 'there is something to save')
  if (MAJOR < 22) t.ok(after <= before / 2, 'half of them are saved')
  else t.ok(after >= before * 0.7, 'as before')
  t.end()
})

void test('the parser of HTTP is not optimized for a quarter of a second, 30 MiB of it, for what it saves', (t) => {
  const tracing = '--trace-wasm-compilation-times'
  const optimized = (flags: string[]): number => linesOf(ASKING, [tracing, ...flags], 'using TurboFan')
  t.ok(optimized([]) >= 1, 'there is something to save')
  t.equal(optimized(scriptFlags('indexer')), 0)
  t.end()
})

void test('V8 has as many helper threads as there are other cores, in the indexer, the API and the commands', (t) => {
  const counting = "console.log(require('node:fs').readdirSync('/proc/self/task').length)"
  const threads = (flags: string[]): number =>
    Number(execFileSync(process.execPath, [...flags, '-e', counting], { encoding: 'utf8' }))
  for (const script of ['indexer', 'api', 'ops'])
    t.ok(scriptFlags(script).includes('--v8-pool-size=0'), script)
  // What comes of it Linux alone tells.
  if (existsSync('/proc/self/task')) {
    const others = Math.max(availableParallelism() - 1, 1)
    for (const script of ['indexer', 'api', 'ops'])
      t.equal(threads(scriptFlags(script)), threads([`--v8-pool-size=${others}`]), script)
  }
  t.end()
})

void test('the heap may double where it is small, before node 24; and optimizing may wait before node 22', (t) => {
  const small = 240 * 2 ** 20
  for (const version of ['20.20.2', '22.0.0', '23.1.0']) t.ok(mayDouble(version, small), version)
  for (const version of ['24.0.0', '25.1.0']) t.notOk(mayDouble(version, small), version)
  t.notOk(mayDouble('22.0.0', 2 ** 31), 'two GiB')
  t.ok(isBetterLate('20.20.2'))
  for (const version of ['22.0.0', '24.0.0']) t.notOk(isBetterLate(version), version)
  t.end()
})

void test('the indexer’s functions are compiled when they are first called, and not interpreted', (t) => {
  const called = 'function once() {} once(); console.log(%ActiveTierIsSparkplug(once))'
  const isCompiled = (flags: string[]): string =>
    execFileSync(process.execPath, [...flags, '--allow-natives-syntax', '-e', called], { encoding: 'utf8' })
  t.equal(isCompiled(scriptFlags('indexer')).trim(), 'true')
  t.equal(isCompiled([]).trim(), 'false', 'as V8 does by itself')
  t.end()
})
