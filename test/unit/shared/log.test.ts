import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const PROGRAM = fileURLToPath(new URL('../../helpers/console-main.ts', import.meta.url))

void t.test('all lines of a program have one form, whoever prints them', (t) => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--import=tsx', PROGRAM], { encoding: 'utf8' })
  t.equal(stderr, '')
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  t.match(lines, [
    { level: 'warn', source: 'console', msg: 'IMPORTANT! Eviction policy is allkeys-lru.' },
    { level: 'error', source: 'console', msg: /^Error: a job failed\n +at / },
    { level: 'error', msg: 'own' },
  ])
  for (const { program, time } of lines) {
    t.equal(program, 'test')
    t.match(time, /^\d{4}-\d\d-\d\dT/)
  }
  t.ok(lines.length <= 4, 'repeated lines are summed up')
  t.end()
})
