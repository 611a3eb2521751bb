import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { processIdentity } from '../../../devnet/evm/process-identity.ts'
import { superviseChild, type SupervisedChild } from '../../../devnet/start/supervised-child.ts'
import { eventually } from '../../helpers/programs.ts'

interface Scene {
  child: SupervisedChild
  /** The ids of all processes that were started. */
  pids: () => number[]
  restarts: { how: string; delayMs: number }[]
  lines: string[]
}

function supervise(t: Test, what: string, graceMs = 5000, logFile?: string): Scene {
  const file = join(t.testdir(), 'pids')
  const restarts: Scene['restarts'] = []
  const lines: string[] = []
  const child = superviseChild(
    {
      name: 'mishap',
      program: 'test/helpers/mishap-main.ts',
      args: [what, file],
      env: process.env,
      ready: 'message',
      graceMs,
      ...(logFile === undefined ? {} : { logFile }),
    },
    {
      onSpawn: () => undefined,
      onLine: (_, line) => lines.push(line),
      onRestart: (_, how, delayMs) => restarts.push({ how, delayMs }),
    },
  )
  t.teardown(() => child.kill())
  const pids = (): number[] =>
    existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : []
  return { child, pids, restarts, lines }
}

const isGone = (pid: number): boolean => processIdentity(pid) === undefined

void t.test('what ends before it was ready has failed, with its own last words', async (t) => {
  const { child, pids, restarts } = supervise(t, 'fail-at-once')
  await t.rejects(child.ready, { name: 'Error', message: 'mishap: no luck' })
  await t.rejects(child.failed, { message: 'mishap: no luck' })
  t.equal(pids().length, 1)
  t.same(restarts, [])
})

void t.test('of a crash the error is told, by whom, and where the rest of it is', async (t) => {
  const { child, lines } = supervise(t, 'crash', 5000, 'logs/mishap.log')
  const message = 'mishap: TypeError: no such thing (log: logs/mishap.log)'
  await t.rejects(child.ready, { name: 'Error', message })
  t.match(lines.at(-1), /^Node\.js v/, 'which is not the last that it said')
})

void t.test(
  'exit code 2 is a mistake in the configuration, at the first start and at any other',
  async (t) => {
    const early = supervise(t, 'wrong-configuration')
    await t.rejects(early.child.ready, { name: 'ConfigError', message: 'mishap: VARIABLE is malformed' })
    const late = supervise(t, 'wrong-configuration-later')
    await t.resolves(late.child.ready)
    await t.rejects(late.child.failed, { name: 'ConfigError' })
    t.equal(late.pids().length, 2)
  },
)

void t.test('what dies later is started again, with growing pauses', async (t) => {
  const { child, pids, restarts } = supervise(t, 'die-after-ready')
  await child.ready
  await eventually('three restarts', () => restarts.length >= 3)
  await child.stop()
  t.same(
    restarts.slice(0, 3),
    [200, 400, 800].map((delayMs) => ({ how: 'ended with exit code 3', delayMs })),
  )
  const started = pids().length
  t.ok(pids().every(isGone))
  await new Promise((resolve) => setTimeout(resolve, 1000))
  t.equal(pids().length, started, 'once stopped it stays stopped')
})

void t.test('killed from outside: another process takes its place', async (t) => {
  const { child, pids, restarts } = supervise(t, 'live')
  await child.ready
  const first = child.pid ?? 0
  process.kill(first, 'SIGKILL')
  await eventually('a second process', () => pids().length === 2)
  t.match(restarts, [{ how: 'was ended by SIGKILL', delayMs: 200 }])
  t.not(child.pid, first)
  await child.stop()
  t.ok(pids().every(isGone))
})

void t.test('who does not stop when asked is killed after the grace', async (t) => {
  const { child, pids, lines } = supervise(t, 'ignore-signals', 400)
  await child.ready
  const startedAt = performance.now()
  await child.stop()
  t.ok(performance.now() - startedAt >= 390, 'not before')
  t.same(lines, ['not now'])
  t.ok(pids().every(isGone))
})

void t.test('what a killed program had started does not outlive it', async (t) => {
  const { child, pids } = supervise(t, 'leave-a-child-behind')
  await child.ready
  const [program = 0, grandchild = 0] = pids()
  t.notOk(isGone(grandchild))
  process.kill(program, 'SIGKILL')
  await eventually('the grandchild is gone', () => isGone(grandchild))
  await eventually('and both are there again', () => pids().length === 4)
  child.kill()
  await eventually('kill takes all of them', () => pids().every(isGone))
})
