import type { Server } from 'node:http'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import { parseLotusJson } from '../../../shared/filecoin/lotus-json.ts'
import type { HeadChange } from '../chain/chain-store.ts'
import { permissionOf, type AccessRules } from './access.ts'
import { answerText, readRequest, type Request } from './answer.ts'
import { headChangeForm } from './forms.ts'
import { lotusText } from './lotus-text.ts'
import type { Node, Permission } from './method.ts'
import { isRecord } from './params.ts'

const PING_MS = 5000
/** Unsent changes after which a slow subscriber is dropped. */
const MOST_UNSENT_CHANGES = 16

export interface SocketServer {
  close(): void
}

/** Accepts WebSocket upgrades of `server` at `path`. */
export function serveSockets(server: Server, path: string, node: Node, rules: AccessRules): SocketServer {
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    const permission = permissionOf(request, rules)
    const isHere = new URL(request.url ?? '/', 'http://localhost').pathname === path
    if (permission === null || !isHere) {
      socket.end(`HTTP/1.1 ${isHere ? '401 Unauthorized' : '404 Not Found'}\r\nConnection: close\r\n\r\n`)
      return
    }
    sockets.handleUpgrade(request, socket, head, (client) => converse(client, node, permission))
  })
  const pings = setInterval(() => sockets.clients.forEach((client) => client.ping()), PING_MS)
  pings.unref()
  return {
    close() {
      clearInterval(pings)
      sockets.clients.forEach((client) => client.terminate())
      sockets.close()
    },
  }
}

function converse(client: WebSocket, node: Node, permission: Permission): void {
  const channels = new HeadChannels(client, node)
  // Requests run one at a time, because answers follow the order of requests.
  let last: Promise<void> = Promise.resolve()
  client.on('error', () => client.terminate())
  client.on('close', () => channels.closeAll())
  client.on('message', (data) => {
    last = last.then(() => receive(client, channels, node, permission, textOf(data)))
  })
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8')
  return Buffer.from(data as Buffer).toString('utf8')
}

async function receive(
  client: WebSocket,
  channels: HeadChannels,
  node: Node,
  permission: Permission,
  text: string,
): Promise<void> {
  const request = channelRequest(text)
  if (request?.method === 'Filecoin.ChainNotify') channels.open(request.id)
  else if (request?.method === 'xrpc.cancel') channels.cancel(request.params[0])
  else {
    const answer = await answerText(node, permission, text)
    if (answer.text !== '') client.send(answer.text)
  }
}

/** Parses a request that only sockets support; returns undefined for every other text. */
function channelRequest(text: string): Request | undefined {
  if (!text.includes('ChainNotify') && !text.includes('xrpc.cancel')) return undefined
  try {
    const body = parseLotusJson(text)
    return isRecord(body) ? readRequest(body) : undefined
  } catch {
    return undefined
  }
}

/** The subscriptions of one client. */
class HeadChannels {
  private readonly client: WebSocket
  private readonly node: Node
  /** Keyed by the id of the request that opened them. */
  private readonly subscriptions = new Map<string, { channel: number; end: () => void }>()
  private opened = 0
  private unsent = 0

  constructor(client: WebSocket, node: Node) {
    this.client = client
    this.node = node
  }

  open(requestId: unknown): void {
    const channel = ++this.opened
    this.client.send(lotusText({ id: requestId, jsonrpc: '2.0', result: channel }))
    this.tell(channel, [{ type: 'current', tipset: this.node.chain.head() }])
    const end = this.node.chain.onHeadChange((changes) => this.tell(channel, changes))
    this.subscriptions.set(lotusText(requestId), { channel, end })
  }

  cancel(requestId: unknown): void {
    const key = lotusText(requestId)
    const found = this.subscriptions.get(key)
    if (found === undefined) return
    found.end()
    this.subscriptions.delete(key)
    this.client.send(lotusText({ jsonrpc: '2.0', method: 'xrpc.ch.close', params: [found.channel] }))
  }

  closeAll(): void {
    for (const { end } of this.subscriptions.values()) end()
    this.subscriptions.clear()
  }

  private tell(channel: number, changes: readonly HeadChange[]): void {
    if (this.unsent >= MOST_UNSENT_CHANGES) {
      this.client.terminate()
      return
    }
    const forms = changes.map((change) => headChangeForm(change, this.node.chain.letter))
    const text = lotusText({ jsonrpc: '2.0', method: 'xrpc.ch.val', params: [channel, forms] })
    this.unsent++
    this.client.send(text, () => this.unsent--)
  }
}
