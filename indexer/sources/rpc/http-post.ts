import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { Agent, type Dispatcher } from 'undici'
import { ABORTED, unlessAborted } from '../../../shared/until-aborted.ts'
import { unescaped } from './foreign-text.ts'
import { EndpointFault } from './rpc-error.ts'

export interface HttpAnswer {
  status: number
  retryAfterMs: number | null
  /** The body's bytes, in the pieces in which they came: put together they are all of it. */
  pieces: readonly Buffer[]
}

/** Posts JSON. Throws an EndpointFault that names no URL; the abort of `controller` ends it at once. */
export type HttpPost = (body: string, timeoutMs: number, controller: AbortController) => Promise<HttpAnswer>

/** A URL's user part travels as a header. */
interface HttpTarget {
  url: string
  headers: Record<string, string>
}

/** A larger body is a fault: nothing that we ask for needs it, and it must fit in memory. */
export const MAX_BODY_BYTES = 128 * 1024 * 1024
/** Blooms and state are mostly zeros, which pack well. Some providers refuse who does not say a name. */
const ACCEPTED = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': 'loan-activity' }

/** Its two names. Another coding was not asked for: whoever names one may well mean none. */
const GZIP: ReadonlySet<string> = new Set(['gzip', 'x-gzip'])
/** As much as a socket gives at once, unpacked at once. */
const PIECE_BYTES = 64 * 1024

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

/**
 * Keeps connections. How long an exchange may take is for `underTimeLimit` alone to say; whoever does not take up a connection
 * within undici's ten seconds is away.
 */
const AGENT = new Agent({ headersTimeout: 0, bodyTimeout: 0 })

/** Posts by {@link undiciExchange}. */
export function undiciPost(rpcUrl: string): HttpPost {
  const { url, headers } = httpTarget(rpcUrl)
  const target = new URL(url)
  return (body, timeoutMs, controller) =>
    underTimeLimit(timeoutMs, controller, () => undiciExchange(target, headers, body, controller.signal))
}

/**
 * One exchange by undici's `dispatch`, which costs less than its `request`, and that less than `fetch` (docs/performance.md). A
 * redirect is not followed: a key in a URL goes where it was configured to go. Throws what undici throws.
 */
export async function undiciExchange(
  target: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { origin, pathname, search } = target
  const options = {
    origin,
    path: pathname + search,
    method: 'POST',
    headers: { ...headers, ...ACCEPTED },
  } as const
  const { status, headers: answered, pieces } = await dispatch({ ...options, body }, signal)
  const isPacked = GZIP.has(headerText(answered['content-encoding'])?.trim().toLowerCase() ?? '')
  return {
    status,
    retryAfterMs: retryAfter(headerText(answered['retry-after'])),
    pieces: isPacked ? await unpacked(pieces, status, signal) : pieces,
  }
}

interface Received {
  status: number
  headers: Record<string, unknown>
  /** As they came. */
  pieces: Buffer[]
}

function dispatch(options: Dispatcher.DispatchOptions, signal: AbortSignal): Promise<Received> {
  return new Promise((resolve, reject) => {
    const received: Received = { status: 0, headers: {}, pieces: [] }
    let bytes = 0
    let controller: Dispatcher.DispatchController | null = null
    const abort = (): void => controller?.abort(signal.reason as Error)
    signal.addEventListener('abort', abort)
    AGENT.dispatch(options, {
      onRequestStart: (started) => {
        controller = started
        if (signal.aborted) abort()
      },
      onResponseStart: (_, status, headers) => {
        // Also what is said before the answer; the answer comes last.
        received.status = status
        received.headers = headers
      },
      onResponseData: (_, piece) => {
        bytes += piece.byteLength
        if (bytes > MAX_BODY_BYTES) controller?.abort(tooLarge())
        else received.pieces.push(piece)
      },
      onResponseEnd: () => {
        signal.removeEventListener('abort', abort)
        resolve(received)
      },
      onResponseError: (_, error) => {
        signal.removeEventListener('abort', abort)
        reject(error)
      },
    })
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
    // Whoever is still connecting does not hear of an abort.
    const answer = await unlessAborted(exchange(), controller.signal)
    if (answer !== ABORTED) return answer
    throw controller.signal.reason
  } catch (error) {
    const reason: unknown = controller.signal.reason
    if (reason instanceof EndpointFault) throw reason
    throw error instanceof EndpointFault ? error : new EndpointFault(transportReason(error))
  } finally {
    clearTimeout(timer)
  }
}

/** What is said with a refusal need not be readable: its status counts. */
async function unpacked(packed: Buffer[], status: number, signal: AbortSignal): Promise<Buffer[]> {
  try {
    return await pipeline(packed, createGunzip({ chunkSize: PIECE_BYTES }), withinLimit, { signal })
  } catch (error) {
    const code = codeOf(error)
    if (code?.startsWith('Z_') !== true) throw error
    if (status !== 200) return []
    throw new EndpointFault(`answer is no gzip (${code})`)
  }
}

async function withinLimit(unpacking: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of unpacking) {
    bytes += piece.byteLength
    if (bytes > MAX_BODY_BYTES) throw tooLarge()
    pieces.push(piece)
  }
  return pieces
}

function tooLarge(): EndpointFault {
  return new EndpointFault(`answer of more than ${MAX_BODY_BYTES} bytes`)
}

/** Only codes and names: a message may hold the URL, and a URL may hold a token. */
function transportReason(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  for (const item of [cause, error]) {
    const code = codeOf(item)
    if (code !== null) return code
  }
  if (cause instanceof Error) return /[/@:]/.test(cause.message) ? cause.name : cause.message
  return error instanceof Error ? `connection failed (${error.name})` : 'connection failed'
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}

/** The one value of a header. */
function headerText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Seconds or an HTTP date. */
function retryAfter(header: string | null): number | null {
  if (header === null) return null
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}
