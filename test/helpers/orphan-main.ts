import { setTimeout as sleep } from 'node:timers/promises'
import { onStopRequest } from '../../shared/program.ts'

/**
 * A program that is long in loading and never done, for the tests of what becomes of one whose supervisor is gone. With
 * the argument `stubborn` it does not end when it is asked to.
 */
const held = setInterval(() => undefined, 1000)
if (process.argv[2] === 'slow') await sleep(500)
onStopRequest(() => {
  if (process.argv[2] !== 'stubborn') clearInterval(held)
})
process.send?.('ready', () => undefined)
