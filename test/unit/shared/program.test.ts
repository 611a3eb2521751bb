import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const PROGRAM = fileURLToPath(new URL('../../helpers/orphan-main.ts', import.meta.url))

function start(what: string): ChildProcess {
  const child = fork(PROGRAM, [what], {
    execArgv: ['--import=tsx', '--no-warnings'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

void t.test('a program ends when the one that started it is gone', async (t) => {
  const child = start('willing')
  await once(child, 'message')
  child.disconnect()
  t.same(await once(child, 'exit'), [0, null])
})

void t.test('also when that one was gone before the program was loaded', async (t) => {
  const child = start('slow')
  await once(child, 'spawn')
  child.disconnect()
  t.same(await once(child, 'exit'), [0, null])
})

for (const what of ['talking', 'hurried']) {
  void t.test(`also when nobody reads any more what it logs: ${what}`, async (t) => {
    const child = start(what)
    await once(child, 'message')
    child.stdout?.destroy()
    await sleep(300)
    t.equal(child.exitCode, null, 'that alone does not end it')
    child.disconnect()
    t.same(await once(child, 'exit'), [0, null])
  })
}

void t.test('and when it cannot end in order', async (t) => {
  const child = start('stubborn')
  await once(child, 'message')
  child.disconnect()
  t.same(await once(child, 'exit'), [1, null])
})

void t.test('a Ctrl-C that npm and the terminal both pass on is one request', async (t) => {
  const child = start('thorough')
  await once(child, 'message')
  child.kill('SIGINT')
  await sleep(100)
  child.kill('SIGINT')
  t.same(await once(child, 'exit'), [0, null], 'it ends in order')
})

void t.test('a second one ends it at once, what its supervisor adds does not', async (t) => {
  const child = start('stubborn')
  await once(child, 'message')
  child.kill('SIGINT')
  await sleep(700)
  child.kill('SIGTERM')
  await sleep(200)
  t.equal(child.exitCode, null)
  child.kill('SIGINT')
  t.same(await once(child, 'exit'), [130, null])
})
