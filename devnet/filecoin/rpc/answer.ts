import { parseLotusJson } from '../../../shared/filecoin/lotus-json.ts'
import { chainMethods } from './chain-methods.ts'
import { devnetMethods } from './devnet-methods.ts'
import { f3Methods } from './f3-methods.ts'
import { lotusText } from './lotus-text.ts'
import type { Method, Node, Permission } from './method.ts'
import { nodeMethods } from './node-methods.ts'
import { isRecord } from './params.ts'
import { RpcError, unknownMethod, unreadable } from './rpc-error.ts'
import { stateMethods } from './state-methods.ts'

const methods = new Map<string, Method>([
  ...named('Filecoin', { ...chainMethods, ...f3Methods, ...stateMethods, ...nodeMethods }),
  ...named('Devnet', devnetMethods),
])
const RANKS: Record<Permission, number> = { read: 0, write: 1, admin: 2 }

function named(prefix: string, group: Record<string, Method>): [string, Method][] {
  return Object.entries(group).map(([name, method]) => [`${prefix}.${name}`, method])
}

export interface Answer {
  /** HTTP status. */
  status: number
  /** Empty for a notification. */
  text: string
}

export interface Request {
  /** Undefined for a notification. */
  id: unknown
  method: string
  params: unknown[]
}

/** Returns the answer to the text of one request or batch. Never throws. */
export async function answerText(node: Node, permission: Permission, text: string): Promise<Answer> {
  let body: unknown
  try {
    body = text.trim() === '' ? [] : parseLotusJson(text)
  } catch {
    return errorAnswer(null, unreadable('unmarshaling request: invalid JSON'))
  }
  if (!Array.isArray(body)) return answerOne(node, permission, body)
  if (body.length === 0) return errorAnswer(null, new RpcError(-32_600, 'Invalid request', 400))
  const answers: string[] = []
  for (const request of body as unknown[]) {
    const { text: answer } = await answerOne(node, permission, request)
    if (answer !== '') answers.push(answer)
  }
  return { status: 200, text: `[${answers.join(',')}]` }
}

async function answerOne(node: Node, permission: Permission, body: unknown): Promise<Answer> {
  try {
    const request = readRequest(body)
    const result = await callMethod(node, permission, request)
    if (request.id === undefined) return { status: 200, text: '' }
    return { status: 200, text: lotusText({ id: request.id, jsonrpc: '2.0', result }) }
  } catch (error) {
    const id = isRecord(body) ? body['id'] : null
    if (error instanceof RpcError) return errorAnswer(id ?? null, error)
    return errorAnswer(id ?? null, new RpcError(1, `panic: ${String(error)}`))
  }
}

export function readRequest(body: unknown): Request {
  if (!isRecord(body) || typeof body['method'] !== 'string')
    throw unreadable('unmarshaling request: no method')
  const params = body['params'] ?? []
  if (!Array.isArray(params)) throw unreadable('unmarshaling params: not a list')
  return { id: body['id'], method: body['method'], params: params as unknown[] }
}

function callMethod(node: Node, permission: Permission, { method: name, params }: Request): unknown {
  const method = methods.get(name)
  if (name === 'Filecoin.ChainNotify') {
    throw new RpcError(-32_601, `method '${name}' not supported in this mode (no out channel support)`, 500)
  }
  if (method === undefined) throw unknownMethod(name)
  if (params.length !== method.params) {
    throw new RpcError(
      -32_602,
      `wrong param count (method '${name}'): ${params.length} != ${method.params}`,
      500,
    )
  }
  if (RANKS[permission] < RANKS[method.permission]) {
    const short = name.slice(name.indexOf('.') + 1)
    throw new RpcError(1, `missing permission to invoke '${short}' (need '${method.permission}')`)
  }
  return method.run(node, params)
}

export function errorAnswer(id: unknown, { code, message, status }: RpcError): Answer {
  return { status, text: lotusText({ error: { code, message }, id, jsonrpc: '2.0' }) }
}
