import { createServer } from 'node:net'

/** Returns the port if nothing listens on it, or a free one for 0. Throws the system's EADDRINUSE otherwise. */
export function claimPort(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1' }, () => {
      const address = server.address()
      const claimed = typeof address === 'object' && address !== null ? address.port : port
      server.close(() => resolve(claimed))
    })
  })
}
