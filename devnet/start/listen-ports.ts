import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../shared/errors.ts'

/**
 * Makes sure, before anything is started, that a port can be listened on, and returns it (a free one for 0).
 * Throws one line that names the variable. A port that a dying process may still hold is waited for.
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
      if (Date.now() >= until) throw new Error(explain(variable, address, error), { cause: error })
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

function explain(
  variable: { host: string; port: string },
  { host, port }: { host: string; port: number },
  error: unknown,
): string {
  switch ((error as { code?: unknown }).code) {
    case 'EADDRINUSE':
      return `${variable.port} ${port} on ${host} is in use: stop what listens there, or set ${variable.port} to a free port`
    case 'EACCES':
      return `${variable.port} ${port} may not be used by this account: set ${variable.port} to a port above 1023`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${variable.host} ${host} is no address of this machine: set ${variable.host} to one, or to 127.0.0.1`
    default:
      return `${variable.host} and ${variable.port}: cannot listen on ${host}:${port}: ${messageOf(error)}`
  }
}
