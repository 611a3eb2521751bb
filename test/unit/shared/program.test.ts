import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const PROGRAM = fileURLToPath(new URL('../../helpers/orphan-main.ts', import.meta.url))

/** Its supervisor is gone `afterMs` after it was started; answers its exit code. */
async function orphaned(t: Test, afterMs: number, args: string[]): Promise<unknown> {
  const child: ChildProcess = fork(PROGRAM, args, { execArgv: ['--import=tsx'] })
  t.teardown(() => child.kill('SIGKILL'))
  await sleep(afterMs)
  child.disconnect()
  const [code] = (await once(child, 'exit')) as unknown[]
  return code
}

void t.test('a program leaves when its supervisor is gone', { timeout: 60_000 }, async (t) => {
  t.equal(await orphaned(t, 1500, ['0', 'leave']), 0)
})

void t.test('also when that was before it listened for it', { timeout: 60_000 }, async (t) => {
  t.equal(await orphaned(t, 0, ['800', 'leave']), 0)
})

void t.test('and when it hangs on its way out', { timeout: 60_000 }, async (t) => {
  t.equal(await orphaned(t, 1500, ['0', 'hang']), 1)
})
