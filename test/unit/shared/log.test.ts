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
    { level: 'warn', source: 'console', msg: 'connection 1 is lost' },
    { level: 'error', source: 'console', msg: /^Error: a job failed\n +at / },
    { level: 'error', msg: 'own' },
    { level: 'warn', source: 'console', msg: 'Warning: an old function' },
    { msg: /^connection 50 is lost \(50 times in / },
    { msg: /^IMPORTANT! Eviction policy is allkeys-lru\. \(50 times in / },
  ])
  for (const { program, time } of lines) {
    t.equal(program, 'test')
    t.match(time, /^\d{4}-\d\d-\d\dT/)
  }
  t.equal(lines.length, 7, 'each text is summed up on its own')
  t.end()
})
