import type { JobKey } from '../../indexer/queue/envelope.ts'

/** A network's key where no database has one: always the same. */
export function jobKey(network: string): JobKey {
  return { network, secret: new Uint8Array(32).fill(7) }
}
