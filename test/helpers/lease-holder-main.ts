import { takeLease } from '../../shared/db/leases.ts'

/** Holds a lease (arguments: database, name, lease in ms) and says over IPC when it has it and when it lost it. */
const [url = '', name = '', leaseMs = ''] = process.argv.slice(2)
process.on('disconnect', () => process.exit(0))
const lease = await takeLease(url, name, { leaseMs: Number(leaseMs) })
process.send?.(lease === undefined ? 'taken by another process' : 'holds')
lease?.lost.addEventListener('abort', () => process.send?.('lost'))
