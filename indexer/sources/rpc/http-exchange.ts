import { createGunzip } from 'node:zlib'
import { Agent, type Dispatcher } from 'undici'
import { readBody, tooLarge, type BodyRoom } from './read-body.ts'
import { AnswerTooLarge, codeOf, EndpointFault } from './rpc-error.ts'

export interface HttpAnswer {
  status: number
  retryAfterMs: number | null
  /** Unpacked body; empty when it cannot be read and the status suffices. */
  body: Buffer
}

/** Blooms and state are mostly zeros, which pack well. Some providers refuse a client without a name. */
const ACCEPTED = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': 'loan-activity' }
/** Only gzip was asked for: an endpoint that names another coding often uses none. */
const GZIP: ReadonlySet<string> = new Set(['gzip', 'x-gzip'])

/**
 * Keeps connections. `underTimeLimit` alone limits an exchange, but undici abandons a connection attempt after ten
 * seconds. Headers of more than 16 KiB are an error of undici's.
 */
const AGENT = new Agent({ headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 16 * 1024 })

/**
 * Sends one POST. A redirect is not followed, because a key in a URL must go only to the configured host. Throws
 * undici's errors, an AnswerTooLarge, and an EndpointFault for a body that does not unpack.
 */
export async function undiciExchange(
  target: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  { signal, room }: { signal: AbortSignal; room: BodyRoom },
): Promise<HttpAnswer> {
  const { origin, pathname, search } = target
  const response = await AGENT.request({
    ...{ origin, path: pathname + search, method: 'POST', body, signal },
    headers: { ...headers, ...ACCEPTED },
  })
  const { statusCode: status, headers: said } = response
  const answer = { status, retryAfterMs: retryAfter(headerText(said['retry-after'])) }
  try {
    return { ...answer, body: await bodyOf(response, room) }
  } catch (error) {
    // The status of a refusal counts, whatever its body is.
    if (status !== 200 && !signal.aborted && isUnreadable(error)) return { ...answer, body: Buffer.alloc(0) }
    if (codeOf(error)?.startsWith('Z_') !== true) throw error
    throw new EndpointFault(`answer is no gzip (${codeOf(error)})`)
  } finally {
    response.body.destroy()
  }
}

async function bodyOf({ headers, body }: Dispatcher.ResponseData, room: BodyRoom): Promise<Buffer> {
  if (Number(headerText(headers['content-length'])) > room.mostBytes) throw tooLarge(room)
  if (!GZIP.has(headerText(headers['content-encoding'])?.trim().toLowerCase() ?? ''))
    return readBody(body as AsyncIterable<Buffer>, room)
  const gunzip = createGunzip()
  let packed = 0
  // Packed bytes count too: an endless stream of empty blocks unpacks to nothing.
  body.on('data', (chunk: Buffer) => {
    packed += chunk.byteLength
    if (packed > room.mostBytes) gunzip.destroy(tooLarge(room))
  })
  body.on('error', (error) => gunzip.destroy(error))
  return readBody(body.pipe(gunzip) as AsyncIterable<Buffer>, room)
}

function isUnreadable(error: unknown): boolean {
  return error instanceof AnswerTooLarge || codeOf(error)?.startsWith('Z_') === true
}

/** Returns null for a header that is missing or repeated. */
function headerText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Parses seconds or an HTTP date to ms; null for anything else. */
function retryAfter(header: string | null): number | null {
  if (header === null) return null
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}
