import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'
import { WebSocketServer } from 'ws'

const MIB = 1024 * 1024

/** A WebSocket frame without a mask that is not the message's last. */
const fragment = (opcode: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([opcode, bytes.length]), bytes])

/** Writes the frames again and again, whether the client reads them or not. */
function flood(socket: Socket, frames: Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(frames));
  }
  socket.on('drain', more)
  more()
}

const repeated = (frame: Buffer, times: number): Buffer => Buffer.concat(Array<Buffer>(times).fill(frame))

/** A node's behaviour towards a subscription, by name. */
export const HOSTILE_SOCKETS: Readonly<Record<string, (socket: Socket) => void>> = {
  'a frame of 15 MB': (socket) => {
    const bytes = Buffer.alloc(15 * MIB, '[')
    const head = Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0, 0, 0])
    head.writeUInt32BE(bytes.length, 6)
    socket.write(Buffer.concat([head, bytes]))
  },
  'fragments without an end': (socket) => {
    socket.write(fragment(0x01, Buffer.from('[')))
    flood(socket, repeated(fragment(0x00, Buffer.from('[')), 10_000))
  },
  'empty fragments without an end': (socket) => {
    socket.write(fragment(0x01, Buffer.from('[')))
    flood(socket, repeated(fragment(0x00, Buffer.alloc(0)), 10_000))
  },
  'a flood of pings': (socket) => {
    // Leaves the pongs unread.
    socket.pause()
    flood(socket, repeated(fragment(0x89, Buffer.alloc(125, 'x')), 500))
  },
  'a flood of news': (socket) => flood(socket, repeated(fragment(0x81, Buffer.from('{"id":1}')), 5_000)),
}

/** Starts a WebSocket server; `attack` selects its behaviour towards each connection. */
export async function hostileSockets(t: Test): Promise<{ url: string; attack: string; connections: number }> {
  const server = createServer()
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  const node = { url: '', attack: '', connections: 0 }
  sockets.on('connection', (client, request) => {
    node.connections += 1
    client.on('error', () => undefined)
    client.send('{"jsonrpc":"2.0","id":1,"result":"0x1"}')
    HOSTILE_SOCKETS[node.attack]?.(request.socket)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    for (const client of sockets.clients) client.terminate()
    sockets.close()
    server.closeAllConnections()
    server.close()
  })
  node.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  return node
}
