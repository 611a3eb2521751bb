import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A TCP address that leads to one server at a time, like a virtual IP or a cluster's load balancer. */
export interface TcpSwitch {
  port: number
  /** Sends new connections to this local port; open ones stay. */
  leadTo(port: number): void
  /** Ends all open connections. */
  reset: () => void
}

export async function tcpSwitch(t: Test, firstPort: number): Promise<TcpSwitch> {
  let target = firstPort
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const reset = (): void => {
    for (const socket of open) socket.destroy()
  }
  t.teardown(() => {
    server.close()
    reset()
  })
  return { port: (server.address() as AddressInfo).port, leadTo: (port) => void (target = port), reset }
}
