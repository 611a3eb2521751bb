import { createServer } from 'node:net'

/** Below the ports of outgoing connections, so that a server that restarts finds its port free. */
const PORTS = { from: 20_000, to: 32_000 }
/** Ports per block: the process that listens on the first owns the others. */
const BLOCK = 60

/** The next port to hand out, and the end of the block. */
let next = 0
let end = 0

/**
 * Returns a port without a listener. No other caller in any process gets it while this process lives, because its
 * server may be down for a while.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    while (next === end) await takeBlock()
    const port = next
    next += 1
    if (await canListen(port)) return port
  }
}

/** The system releases the block when this process ends in any way. */
async function takeBlock(): Promise<void> {
  const blocks = Math.floor((PORTS.to - PORTS.from) / BLOCK)
  const chosen = Math.floor(Math.random() * blocks)
  for (let tried = 0; tried < blocks; tried += 1) {
    const first = PORTS.from + ((chosen + tried) % blocks) * BLOCK
    if (await canListen(first, 'for good')) {
      next = first + 1
      end = first + BLOCK
      return
    }
  }
  throw new Error(`every port from ${PORTS.from} to ${PORTS.to} belongs to somebody: end some of them`)
}

function canListen(port: number, howLong: 'a moment' | 'for good' = 'a moment'): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    })
    server.listen(port, '127.0.0.1', () => {
      if (howLong === 'a moment') server.close(() => resolve(true))
      else {
        server.unref()
        resolve(true)
      }
    })
  })
}
