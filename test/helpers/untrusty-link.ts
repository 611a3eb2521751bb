import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A way to a server that can be cut: connections are closed, new ones refused, until it is mended. */
export interface UntrustyLink {
  /** `http://127.0.0.1:<port>` and the path of the server's URL. */
  url: string
  cut(): void
  mend(): void
}

export async function untrustyLink(t: Test, serverUrl: string): Promise<UntrustyLink> {
  const { hostname, port, pathname } = new URL(serverUrl)
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((socket) => {
    if (isCut) return void socket.destroy()
    const upstream = connect(Number(port), hostname)
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
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
  const cut = (): void => {
    isCut = true
    for (const socket of open) socket.destroy()
  }
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    cut()
    server.close()
  })
  const { port: own } = server.address() as AddressInfo
  const path = pathname === '/' ? '' : pathname
  return { url: `http://127.0.0.1:${own}${path}`, cut, mend: () => void (isCut = false) }
}
