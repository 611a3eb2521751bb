import { setTimeout as sleep } from 'node:timers/promises'
import { listenFailure } from '../../shared/listen-failure.ts'
import { claimPort } from '../evm/claim-port.ts'

/**
 * Checks before the start that a port is free, and returns it (a free one for 0). Throws one line that names the
 * variable. It waits for a port that a dying process may still hold.
 */
export async function claimListenPort(
  variable: { host: string; port: string },
  address: { host: string; port: number },
  waitMs: number,
): Promise<number> {
  const until = Date.now() + waitMs
  for (;;) {
    try {
      return await claimPort(address.port, address.host)
    } catch (error) {
      if (Date.now() >= until) throw listenFailure(variable, address, error)
      await sleep(100)
    }
  }
}
