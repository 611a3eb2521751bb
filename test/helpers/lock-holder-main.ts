import { tryAdvisoryLock } from '../../shared/db/locks.ts'

/** Holds a lock (arguments: database, name, lease in ms) and says over IPC when it has it and when it lost it. */
const [url = '', name = '', leaseMs = ''] = process.argv.slice(2)
process.on('disconnect', () => process.exit(0))
const lock = await tryAdvisoryLock(url, name, { leaseMs: Number(leaseMs) })
process.send?.(lock === undefined ? 'taken by somebody else' : 'holds')
await lock?.lost
process.send?.('lost')
