import { get, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { Test } from 'tap'

export interface StreamedEvent {
  id: string
  event: string
  data: Record<string, unknown>
}

export interface EventStream {
  status: number
  headers: IncomingHttpHeaders
  /** The id from which a client resumes now. */
  lastId: string
  /** All events so far. */
  events: StreamedEvent[]
  comments: number
  text: () => string
  /** Resolves once `enough` is true of what came; rejects when the stream ends before. */
  until: (enough: (stream: EventStream) => boolean) => Promise<void>
  /** Resolves with true when the server ended the answer in order, with false when it broke off. */
  ended: Promise<boolean>
  /** Breaks the connection off, like the death of the client. */
  kill: () => void
}

/** Reads server-sent events as https://html.spec.whatwg.org/multipage/server-sent-events.html says. */
export async function openStream(
  t: Test,
  origin: string,
  { lastEventId, query = '' }: { lastEventId?: string; query?: string } = {},
): Promise<EventStream> {
  const headers = {
    accept: 'text/event-stream',
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
  }
  let request: ClientRequest | undefined
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request = get(`${origin}/api/activity/stream${query}`, { headers, agent: false }, resolve)
    request.on('error', reject)
  })
  t.teardown(() => request?.destroy())
  let text = ''
  let rest = ''
  let hasEnded = false
  const waiting = new Set<() => void>()
  const stream: EventStream = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    lastId: lastEventId ?? '',
    events: [],
    comments: 0,
    text: () => text,
    until: async (enough) => {
      while (!enough(stream)) {
        if (hasEnded) throw new Error(`the stream ended: ${text.slice(-300)}`)
        await new Promise<void>((resolve) => waiting.add(resolve))
      }
    },
    ended: new Promise((resolve) => response.once('close', () => resolve(response.complete))),
    kill: () => request?.destroy(),
  }
  const tell = (): void => {
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  response.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-100_000)
    const blocks = (rest + more).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) take(stream, block)
    tell()
  })
  response.on('error', () => undefined)
  response.once('close', () => {
    hasEnded = true
    tell()
  })
  return stream
}

function take(stream: EventStream, block: string): void {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')] as const
    }),
  )
  if (fields.has('')) stream.comments += 1
  stream.lastId = fields.get('id') ?? stream.lastId
  const data = fields.get('data')
  if (data === undefined) return
  const event = fields.get('event') ?? 'message'
  stream.events.push({ id: stream.lastId, event, data: JSON.parse(data) as Record<string, unknown> })
}
