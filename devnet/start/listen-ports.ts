import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { listenFailure } from '../../shared/listen-failure.ts'

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
      return await listenOnce(address)
    } catch (error) {
      if (Date.now() >= until) throw listenFailure(variable, address, error)
      await sleep(100)
    }
  }
}

function listenOnce({ host, port }: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port }, () => {
      const address = server.address()
      const claimed = address !== null && typeof address === 'object' ? address.port : port
      server.close(() => resolve(claimed))
    })
  })
}
