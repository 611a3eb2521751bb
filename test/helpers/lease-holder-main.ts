import { takeLease } from '../../shared/db/leases.ts'

/** Holds a lease (arguments: database, name, lease in ms) and reports over IPC when it gets and when it loses it. */
const [url = '', name = '', leaseMs = ''] = process.argv.slice(2)
process.on('disconnect', () => process.exit(0))
const lease = await takeLease(url, name, { leaseMs: Number(leaseMs) })
process.send?.(lease === undefined ? 'taken by another process' : 'holds')
lease?.lost.addEventListener('abort', () => process.send?.('lost'))
