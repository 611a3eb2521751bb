import { createGunzip, type Gunzip } from 'node:zlib'
import { Agent, type Dispatcher } from 'undici'
import { BodyPieces, PIECE_BYTES } from './body-pieces.ts'
import type { Pieces } from './body-text.ts'
import { codeOf, EndpointFault } from './rpc-error.ts'

export interface HttpAnswer {
  status: number
  retryAfterMs: number | null
  pieces: Pieces
}

/** Blooms and state are mostly zeros, which pack well. Some providers refuse who does not say a name. */
const ACCEPTED = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': 'loan-activity' }
/** Its two names. Another coding was not asked for: whoever names one may well mean none. */
const GZIP: ReadonlySet<string> = new Set(['gzip', 'x-gzip'])

/**
 * Keeps connections. How long an exchange may take is for `underTimeLimit` alone to say; whoever does not take up a connection
 * within undici's ten seconds is away.
 */
const AGENT = new Agent({ headersTimeout: 0, bodyTimeout: 0 })

/**
 * One exchange by undici's `dispatch`, which costs less than its `request`, and that less than `fetch` (docs/performance.md). A
 * redirect is not followed: a key in a URL goes where it was configured to go. Throws what undici throws, and an EndpointFault
 * for a body that is too large or is not what it was said to be.
 */
export function undiciExchange(
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
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(signal, resolve, reject)
    AGENT.dispatch({ ...options, body }, exchange)
  })
}

/** What undici tells of one exchange, in this order; nothing more once it was aborted. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal
  readonly #resolve: (answer: HttpAnswer) => void
  readonly #reject: (reason: unknown) => void
  readonly #abort = (): void => this.#controller?.abort(this.#signal.reason as Error)
  readonly #pieces = new BodyPieces()
  #controller: Dispatcher.DispatchController | null = null
  #status = 0
  #retryAfterMs: number | null = null
  #gunzip: Gunzip | null = null

  constructor(signal: AbortSignal, resolve: (answer: HttpAnswer) => void, reject: (reason: unknown) => void) {
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    signal.addEventListener('abort', this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) this.#abort()
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    // What is said before the answer is none.
    if (status < 200) return
    this.#status = status
    this.#retryAfterMs = retryAfter(headerText(headers['retry-after']))
    if (!GZIP.has(headerText(headers['content-encoding'])?.trim().toLowerCase() ?? '')) return
    this.#gunzip = createGunzip({ chunkSize: PIECE_BYTES })
    void this.#unpack(this.#gunzip)
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#gunzip === null) this.#pieces.add(piece)
    else if (!this.#gunzip.write(piece)) controller.pause()
  }

  onResponseEnd(): void {
    this.#signal.removeEventListener('abort', this.#abort)
    if (this.#gunzip === null) this.#answer(this.#pieces.end())
    else this.#gunzip.end()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#signal.removeEventListener('abort', this.#abort)
    this.#gunzip?.destroy()
    this.#reject(error)
  }

  async #unpack(gunzip: Gunzip): Promise<void> {
    gunzip.on('drain', () => this.#controller?.resume())
    try {
      for await (const piece of gunzip) this.#pieces.add(piece as Buffer)
      this.#answer(this.#pieces.end())
    } catch (error) {
      const code = codeOf(error)
      const isNoGzip = code?.startsWith('Z_') === true
      const fault = isNoGzip ? new EndpointFault(`answer is no gzip (${code})`) : (error as Error)
      // What is said with a refusal need not be readable: its status counts.
      if (isNoGzip && this.#status !== 200) this.#answer([])
      else this.#reject(fault)
      this.#controller?.abort(fault)
    }
  }

  #answer(pieces: Pieces): void {
    this.#resolve({ status: this.#status, retryAfterMs: this.#retryAfterMs, pieces })
  }
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
