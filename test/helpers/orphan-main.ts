import { setTimeout as sleep } from 'node:timers/promises'
import { onStopRequest } from '../../shared/program.ts'

/** A supervised program for a test: it listens for its end so late (ms), and then leaves or hangs. */
const [afterMs = '0', how = 'leave'] = process.argv.slice(2)
await sleep(Number(afterMs))
onStopRequest(
  () => {
    if (how === 'leave') process.exit(0)
  },
  { orphanMs: 300 },
)
// It works until somebody ends it.
setInterval(() => undefined, 1000)
