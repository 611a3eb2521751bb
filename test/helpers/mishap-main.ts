import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A program for tests of supervisors. The first argument selects its behaviour; it writes its process id to the file
 * that the second names, a line for each start.
 */
const [what = '', file = ''] = process.argv.slice(2)
const starts = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
appendFileSync(file, `${process.pid}\n`)
process.on('disconnect', () => process.exit(0))

switch (what) {
  case 'fail-at-once':
    console.error('mishap: no luck')
    process.exit(1)
    break
  case 'crash':
    throw new TypeError('no such thing', { cause: new Error('deeper') })
  case 'wrong-configuration':
    console.error('mishap: VARIABLE is malformed')
    process.exit(2)
    break
  case 'wrong-configuration-later':
    process.send?.('ready')
    await sleep(50)
    process.exit(starts === 0 ? 1 : 2)
    break
  case 'die-after-ready':
    process.send?.('ready')
    await sleep(20)
    process.exit(3)
    break
  case 'ignore-signals':
    process.on('SIGTERM', () => console.log('not now'))
    process.send?.('ready')
    break
  case 'leave-a-child-behind': {
    const child = spawn('sleep', ['300'], { stdio: 'ignore' })
    appendFileSync(file, `${child.pid ?? 0}\n`)
    process.send?.('ready')
    break
  }
  default:
    process.send?.('ready')
}
// Runs until it is ended: the IPC channel keeps it alive.
