import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'
import { monotonicMs } from '../measure.ts'
import { Branch } from './branch.ts'
import { CHAIN_ID, SyntheticChain, type ChainShape } from './synthetic-chain.ts'

/** A node's chain, and the part that it shows at first. */
export interface NodeSpec {
  shape: ChainShape
  seed?: number
  /** The last block that the other branch shares with the main one. Missing: there is no other branch. */
  forkAfter?: number
  /** End of the main branch at first. Missing: all of it is visible. */
  head?: number
  /** The final block: the newest one, or, like Ethereum, the one two epochs before the head. */
  finality?: 'at once' | 'epochs'
  /** The chain id that it reports. */
  chainId?: number
}

/** The visible chain: one branch, up to the block `head`. */
export interface View {
  branch: 'main' | 'other'
  head: number
}

export interface ServedChain {
  url: string
  wsUrl: string
  /** Switches to this chain and notifies all subscribers. Returns the time, as {@link monotonicMs}. */
  show: (view: View) => number
  close: () => void
}

interface Call {
  id: number
  method: string
  params: unknown[]
}

const EPOCH_BLOCKS = 32

/**
 * Serves a whole synthetic chain with every answer ready as text: it costs only reading requests and writing answers.
 * All of it is ASCII.
 */
export async function serveSyntheticChain(spec: NodeSpec): Promise<ServedChain> {
  const node = new SyntheticNode(spec)
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const body = bytesOf(node.answer(Buffer.concat(parts).toString('latin1')))
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
    })
  })
  // A client that returns after a pause must not meet a connection that is just being closed.
  server.keepAliveTimeout = 600_000
  const subscribers = new Set<WebSocket>()
  new WebSocketServer({ server }).on('connection', (socket) => {
    socket.on('message', (data) => {
      if (!Buffer.isBuffer(data)) return
      socket.send(node.answer(data.toString('latin1')).join(''))
      subscribers.add(socket)
    })
    socket.on('close', () => subscribers.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const show = (view: View): number => {
    node.view = view
    const toldMs = monotonicMs()
    for (const socket of subscribers) socket.send(node.newHead())
    return toldMs
  }
  const close = (): void => {
    for (const socket of subscribers) socket.terminate()
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://${place}`, wsUrl: `ws://${place}`, show, close }
}

/** Written piece by piece: one joined text would be long, and its memory pages are expensive. */
function bytesOf(pieces: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) at += bytes.write(piece, at, 'latin1')
  return bytes
}

class SyntheticNode {
  view: View
  readonly #branches: { main: Branch; other: Branch }
  readonly #hasEpochs: boolean
  readonly #chainId: number

  constructor({ shape, seed, forkAfter, head = shape.blocks, finality, chainId }: NodeSpec) {
    const main = new Branch(new SyntheticChain(shape, seed))
    const other = forkAfter === undefined ? main : new Branch(new SyntheticChain(shape, seed, forkAfter))
    this.#branches = { main, other }
    this.#hasEpochs = finality === 'epochs'
    this.#chainId = chainId ?? CHAIN_ID
    this.view = { branch: 'main', head }
  }

  /** Answers the text of a request or a batch, in pieces. */
  answer(text: string): string[] {
    const calls = JSON.parse(text) as Call | Call[]
    const pieces: string[] = []
    if (!Array.isArray(calls)) {
      this.#answerOne(calls, pieces)
      return pieces
    }
    for (const [index, call] of calls.entries()) {
      pieces.push(index === 0 ? '[' : ',')
      this.#answerOne(call, pieces)
    }
    pieces.push(']')
    return pieces
  }

  /** Returns a new-heads notification. */
  newHead(): string {
    return `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":${this.#block(this.view.head, false)}}}`
  }

  get #branch(): Branch {
    return this.#branches[this.view.branch]
  }

  #answerOne({ id, method, params }: Call, pieces: string[]): void {
    const answer = this.#methods[method]
    const result = answer?.(params)
    if (result !== undefined) {
      pieces.push(`{"jsonrpc":"2.0","id":${id},"result":`)
      if (typeof result === 'string') pieces.push(result)
      else for (const piece of result) pieces.push(piece)
      pieces.push('}')
      return
    }
    const error =
      answer === undefined
        ? `{"code":-32601,"message":"the method ${method} does not exist"}`
        : '{"code":-32000,"message":"header not found"}'
    pieces.push(`{"jsonrpc":"2.0","id":${id},"error":${error}}`)
  }

  readonly #methods: Record<string, (params: unknown[]) => string | string[] | undefined> = {
    eth_chainId: () => `"0x${this.#chainId.toString(16)}"`,
    eth_getCode: ([address]) => (this.#branch.hasCode(String(address)) ? '"0x60"' : '"0x"'),
    eth_blockNumber: () => `"0x${this.view.head.toString(16)}"`,
    eth_getBlockByNumber: ([tag, isWhole]) => this.#block(this.#numberOf(tag), isWhole === true),
    eth_getBlockByHash: ([hash, isWhole]) => {
      const branch = this.#holderOf(String(hash))
      const block = branch.withHash(String(hash))
      return block === undefined ? 'null' : isWhole === true ? branch.whole(block) : block.header
    },
    eth_getBlockReceipts: ([hash]) => {
      const branch = this.#holderOf(String(hash))
      const block = branch.withHash(String(hash))
      return block === undefined ? 'null' : branch.receipts(block)
    },
    eth_getLogs: ([filter]) => ['[', ...this.#logs(filter as Record<string, unknown>), ']'],
    eth_call: ([transaction, block]) => {
      const blockHash = this.#hashOf(block)
      if (blockHash === undefined) return undefined
      return this.#holderOf(blockHash).call(transaction as { to: string; data: string }, blockHash)
    },
    eth_subscribe: () => '"0x1"',
  }

  #numberOf(tag: unknown): number {
    const { head } = this.view
    if (tag === 'latest') return head
    if (tag !== 'finalized') return Number(tag)
    return this.#hasEpochs ? finalInEpochs(head) : head
  }

  /** Returns the hash of a call's block; a client that trusts the node names the block by number. */
  #hashOf(block: unknown): string | undefined {
    if (typeof block !== 'string') return (block as { blockHash: string }).blockHash
    const number = this.#numberOf(block)
    return number > this.view.head ? undefined : this.#branch.at(number)?.hash
  }

  #block(number: number, isWhole: boolean): string {
    const block = number > this.view.head ? undefined : this.#branch.at(number)
    return block === undefined ? 'null' : isWhole ? this.#branch.whole(block) : block.header
  }

  /** A node still knows the blocks of a branch that it left. */
  #holderOf(hash: string): Branch {
    return this.#branch.withHash(hash) === undefined ? this.#branches.main : this.#branch
  }

  #logs(filter: Record<string, unknown>): string[] {
    const { blockHash, fromBlock, toBlock } = filter
    if (typeof blockHash === 'string') return [this.#holderOf(blockHash).withHash(blockHash)?.logs ?? '']
    return this.#branch.ourLogs(Number(fromBlock), Math.min(Number(toBlock), this.view.head))
  }
}

/** Returns the number of the final block two epochs before the epoch of the head, as on Ethereum. */
export function finalInEpochs(head: number): number {
  return (Math.floor(head / EPOCH_BLOCKS) - 2) * EPOCH_BLOCKS
}
