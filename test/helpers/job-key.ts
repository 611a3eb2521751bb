import type { JobKey } from '../../indexer/queue/envelope.ts'

/** A constant key for a network without a database. */
export function jobKey(network: string): JobKey {
  return { network, secret: new Uint8Array(32).fill(7) }
}
