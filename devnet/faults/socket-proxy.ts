import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket, WebSocketServer, type RawData } from 'ws'

/**
 * The fate of one message from the node: replacement texts (none: it is lost), a closed socket, or a delay. Null: it
 * passes unchanged.
 */
export type SocketFault = (text: string) => string[] | 'close' | { afterMs: number } | null

/** Carries sockets from `server` on to a node, and the node's messages back as the fault lets it. */
export function carrySockets(server: Server, target: string, fault: SocketFault): { close: () => void } {
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (client, request) => {
    const { authorization } = request.headers
    const upstream = new WebSocket(target, {
      headers: authorization === undefined ? {} : { authorization },
    })
    const early: string[] = []
    client.on('message', (data) => {
      if (upstream.readyState === WebSocket.OPEN) upstream.send(textOf(data))
      else early.push(textOf(data))
    })
    upstream.on('open', () => early.splice(0).forEach((text) => upstream.send(text)))
    let last = Promise.resolve()
    upstream.on('message', (data) => {
      last = last.then(() => deliver(client, textOf(data), fault))
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.terminate())
      one.on('close', () => other.terminate())
    }
  })
  return {
    close() {
      sockets.clients.forEach((client) => client.terminate())
      sockets.close()
    },
  }
}

/** Delivers one after the other: a late message delays those behind it, as on a real socket. */
async function deliver(client: WebSocket, text: string, fault: SocketFault): Promise<void> {
  const what = fault(text)
  if (what === 'close') {
    client.terminate()
    return
  }
  if (what !== null && 'afterMs' in what) await sleep(what.afterMs)
  const texts = Array.isArray(what) ? what : [text]
  if (client.readyState === WebSocket.OPEN) texts.forEach((one) => client.send(one))
}

function textOf(data: RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString('utf8')
}
