import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * A free port is one of these: below the ports that systems give to outgoing connections, so that it stays free until a
 * part listens on it, and while the part is started again.
 */
const FREE_PORTS = { from: 10_000, to: 20_000 }

/** Returns the port if nothing listens on it, or a free one for 0. Throws the system's EADDRINUSE otherwise. */
export async function claimPort(port: number, host = '127.0.0.1'): Promise<number> {
  if (port !== 0) return listenOnce(port, host)
  for (;;) {
    const free = await listenOnce(randomInt(FREE_PORTS.from, FREE_PORTS.to), host).catch(ifInUse)
    if (free !== undefined) return free
  }
}

function ifInUse(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
}

function listenOnce(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port, host }, () => server.close(() => resolve(port)))
  })
}
