import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { killRunning } from '../../simulation/process-tree.ts'

void t.test('who runs is killed where it is; who has ended, or is about to, is told', async (t) => {
  const running = spawn('sleep', ['60'])
  await once(running, 'spawn')
  const gone = once(running, 'exit')
  t.equal(await killRunning(running.pid ?? 0), true)
  t.same(await gone, [null, 'SIGKILL'])
  t.equal(await killRunning(running.pid ?? 0), false, 'it is reaped')

  // Its child has ended, and nobody has asked how: what a server sees between the end and its notice.
  const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 60'])
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.equal(await killRunning(Number(line.toString())), false, 'nobody has asked how it ended')
})
