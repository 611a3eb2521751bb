import type { RateWindows } from '../../api/plugins/rate-windows.ts'
import { eventually } from './programs.ts'

/** Counts one request of a client, and returns how many there are. */
export function countRequest(windows: RateWindows, client = 'client'): Promise<number> {
  const store = new (windows.storeClass())({})
  return new Promise((resolve, reject) =>
    store.incr(
      client,
      (error, result) => (error ? reject(error) : resolve(result?.current ?? 0)),
      60_000,
      60_000,
    ),
  )
}

/** Resolves once two APIs count together in Redis. Either counts by itself after a slow answer. */
export function countTogether(one: RateWindows, two: RateWindows): Promise<void> {
  let client = 0
  return eventually('both count in Redis', async () => {
    client += 1
    const counts = [await countRequest(one, `${client}`), await countRequest(two, `${client}`)]
    return one.isShared && two.isShared && counts.join() === '1,2'
  })
}
