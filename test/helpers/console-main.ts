import { createLogger, logConsole } from '../../shared/log.ts'

/** A program whose libraries print lines of their own. */
const log = createLogger('test', 'info')
logConsole(log)
for (let times = 1; times <= 50; times += 1) {
  console.warn('IMPORTANT! Eviction policy is %s.', 'allkeys-lru')
  console.warn('connection %d is lost', times)
}
console.error(new Error('a job failed'))
process.emitWarning('an old function')
log.error('own')
