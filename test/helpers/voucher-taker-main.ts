import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { startVoucherWorker } from '../../indexer/queue/voucher-worker.ts'

/**
 * A program for tests: takes a voucher from the queue of `<DATABASE_URL> [<REDIS_URL>]`, reports it, and never finishes
 * it.
 */
const [databaseUrl = '', redisUrl] = process.argv.slice(2)
const never = new Promise<never>(() => undefined)
startVoucherWorker(
  openQueueBackend({ databaseUrl, redisUrl }, (error) => console.error(error.message)),
  {
    ingest: () => {
      process.send?.('has it')
      return never
    },
    refusalOf: () => null,
    isRetryable: () => false,
    onDone: () => undefined,
    onRetry: () => undefined,
    onDead: () => never,
    signal: new AbortController().signal,
  },
)
process.on('disconnect', () => process.exit(0))
