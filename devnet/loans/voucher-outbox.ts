import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { addVoucher, openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'

/**
 * Vouchers that parties hand in to the service, one a line, in the format of the voucher queue's jobs and of `ops
 * vouchers import`. The file keeps vouchers while the service is away.
 */
export interface VoucherOutbox {
  put(voucher: string): void
  /** Adds outstanding lines to a service's queue until the signal; `progressFile` records how far it came. */
  forward(urls: QueueUrls, progressFile: string, signal: AbortSignal): Promise<void>
}

export interface QueueUrls {
  databaseUrl: string
  redisUrl: string | undefined
}

const PAUSE_MS = 500
const CHUNK_BYTES = 64 * 1024

export function voucherOutbox(file: string, networkId: string): VoucherOutbox {
  return {
    put: (voucher) => appendFileSync(file, `${JSON.stringify({ network: networkId, voucher })}\n`),
    async forward(urls, progressFile, signal) {
      while (!signal.aborted) {
        const from = existsSync(progressFile) ? Number(readFileSync(progressFile, 'utf8')) : 0
        const { lines, to } = readLines(file, from)
        try {
          if (lines.length > 0) await send(lines, from, urls)
          if (to > from) writeFileSync(progressFile, String(to))
        } catch {
          // The database or Redis is away or not up yet; the same lines are sent again.
        }
        await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined)
      }
    },
  }
}

/** Returns the whole lines from a position in the file, and the position of their end. */
function readLines(file: string, from: number): { lines: string[]; to: number } {
  if (!existsSync(file)) return { lines: [], to: from }
  const handle = openSync(file, 'r')
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    const text = chunk.subarray(0, readSync(handle, chunk, 0, CHUNK_BYTES, from)).toString()
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    return { lines: whole.split('\n').filter((line) => line !== ''), to: from + Buffer.byteLength(whole) }
  } finally {
    closeSync(handle)
  }
}

async function send(lines: string[], from: number, urls: QueueUrls): Promise<void> {
  const backend = openQueueBackend(urls, () => undefined)
  const queue = openVoucherQueue(backend)
  try {
    for (const [index, line] of lines.entries())
      await addVoucher(queue, JSON.parse(line), `devnet-${from}-${index}`)
  } finally {
    await queue.close()
    backend.close()
  }
}
