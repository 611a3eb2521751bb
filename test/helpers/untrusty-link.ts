import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'

/** A way to a server that can be cut: it closes connections and refuses new ones (ECONNREFUSED) until it is mended. */
export interface UntrustyLink {
  /** The server's URL through this link. */
  url: string
  cut(): Promise<void>
  mend(): Promise<void>
  /** Holds the server's answers back until the returned function is called; requests still arrive. */
  holdAnswers(): () => void
}

export async function untrustyLink(t: Test, serverUrl: string): Promise<UntrustyLink> {
  const { hostname, port } = new URL(serverUrl)
  const own = await freePort()
  const open = new Set<Socket>()
  const answers = new Map<Socket, Socket>()
  const server = createServer((socket) => {
    const upstream = connect(Number(port), hostname)
    answers.set(upstream, socket)
    upstream.on('close', () => answers.delete(upstream))
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
  const mend = (): Promise<void> =>
    new Promise((listening, failed) => {
      server.once('error', failed)
      server.listen(own, '127.0.0.1', listening)
    })
  const cut = (): Promise<void> =>
    new Promise((closed) => {
      server.close(() => closed())
      for (const socket of open) socket.destroy()
    })
  const holdAnswers = (): (() => void) => {
    for (const [upstream, socket] of answers) upstream.unpipe(socket)
    return () => {
      for (const [upstream, socket] of answers) upstream.pipe(socket)
    }
  }
  await mend()
  t.teardown(cut)
  const url = new URL(serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String(own)
  return { url: url.href.replace(/\/$/, ''), cut, mend, holdAnswers }
}
