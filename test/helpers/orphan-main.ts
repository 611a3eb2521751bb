import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger } from '../../shared/log.ts'
import { onStopRequest } from '../../shared/program.ts'

/**
 * A program that loads slowly and never ends, for tests of children whose supervisor is gone. Its argument: `slow` in
 * loading, `stubborn`, `hurried` or `thorough` when asked to end, or `talking` all the while.
 */
const log = createLogger('orphan', 'info')
const held = setInterval(() => {
  if (process.argv[2] === 'talking') log.info('still here')
}, 10)
if (process.argv[2] === 'slow') await sleep(500)
onStopRequest((reason) => {
  log.info({ reason }, 'stopping')
  log.info('stopped')
  if (process.argv[2] === 'hurried') process.exit(0)
  if (process.argv[2] === 'thorough') setTimeout(() => clearInterval(held), 300)
  else if (process.argv[2] !== 'stubborn') clearInterval(held)
})
process.send?.('ready', () => undefined)
