import { unescaped } from './foreign-text.ts'
import { EndpointFault } from './rpc-error.ts'

export interface HttpAnswer {
  status: number
  retryAfterMs: number | null
  text: string
}

/** Posts JSON. Throws an EndpointFault that names no URL; the abort of `controller` ends it at once. */
export type HttpPost = (body: string, timeoutMs: number, controller: AbortController) => Promise<HttpAnswer>

/** Fetch refuses URLs with a user part, so it travels as a header. */
interface HttpTarget {
  url: string
  headers: Record<string, string>
}

/** A larger body is a fault: nothing that we ask for needs it, and it must fit in memory. */
export const MAX_BODY_BYTES = 128 * 1024 * 1024

export function httpTarget(rpcUrl: string): HttpTarget {
  const url = new URL(rpcUrl)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (url.username !== '' || url.password !== '') {
    const user = `${unescaped(url.username)}:${unescaped(url.password)}`
    headers['authorization'] = `Basic ${Buffer.from(user).toString('base64')}`
    url.username = ''
    url.password = ''
  }
  return { url: url.href, headers }
}

export function fetchPost(rpcUrl: string): HttpPost {
  const target = httpTarget(rpcUrl)
  return (body, timeoutMs, controller) =>
    underTimeLimit(timeoutMs, controller, async () => {
      const { url, headers } = target
      const response = await fetch(url, { method: 'POST', headers, body, signal: controller.signal })
      const text = await readBody(response)
      return { status: response.status, retryAfterMs: retryAfter(response.headers.get('retry-after')), text }
    })
}

/** One exchange: aborts `controller` when it takes too long, and throws nothing but an EndpointFault. */
export async function underTimeLimit<T>(
  timeoutMs: number,
  controller: AbortController,
  exchange: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(
    () => controller.abort(new EndpointFault(`no answer within ${timeoutMs} ms`)),
    timeoutMs,
  )
  try {
    return await exchange()
  } catch (error) {
    const reason: unknown = controller.signal.reason
    if (reason instanceof EndpointFault) throw reason
    throw error instanceof EndpointFault ? error : new EndpointFault(transportReason(error))
  } finally {
    clearTimeout(timer)
  }
}

async function readBody(response: Response): Promise<string> {
  const body: ReadableStream<Uint8Array> | null = response.body
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  const reader = body.getReader()
  for (;;) {
    const part = await reader.read()
    if (part.done) return text + decoder.decode()
    bytes += part.value.byteLength
    if (bytes > MAX_BODY_BYTES) {
      await reader.cancel()
      throw new EndpointFault(`answer of more than ${MAX_BODY_BYTES} bytes`)
    }
    text += decoder.decode(part.value, { stream: true })
  }
}

/** Only codes and names: a message may hold the URL, and a URL may hold a token. */
function transportReason(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  for (const item of [cause, error]) {
    if (item instanceof Error && 'code' in item && typeof item.code === 'string') return item.code
  }
  if (cause instanceof Error) return /[/@:]/.test(cause.message) ? cause.name : cause.message
  return error instanceof Error ? `connection failed (${error.name})` : 'connection failed'
}

/** Seconds or an HTTP date. */
export function retryAfter(header: string | null): number | null {
  if (header === null) return null
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}
