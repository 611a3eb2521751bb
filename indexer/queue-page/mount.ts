import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { messageOf } from '../../shared/errors.ts'
import type { QueuePageParts } from './parts.ts'

export interface QueuePage {
  handle: RequestListener
  close(): Promise<void>
}

/** Loads the page and connects to the queue with the first request that knows the password, and again after a failure. */
export function mountQueuePage(parts: QueuePageParts): QueuePage {
  let opened: Promise<FastifyInstance> | undefined
  const open = (): Promise<FastifyInstance> => {
    opened ??= import('./queue-page.ts')
      .then(({ buildQueuePage }) => buildQueuePage(parts))
      .catch((error: unknown) => {
        opened = undefined
        throw error
      })
    return opened
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refused = refusalOf(request, parts)
    if (refused !== undefined) {
      refuse(response, refused)
      return
    }
    try {
      const app = await open()
      app.routing(request, response)
    } catch (error) {
      parts.log.warn(`the page of the queues cannot be opened: ${messageOf(error)}`)
      refuse(response, { status: 503, message: 'the queue or the database is away: try again' })
    }
  }
  return {
    handle: (request, response) => void answer(request, response),
    close: async () => (await opened?.catch(() => undefined))?.close(),
  }
}

interface Refusal {
  status: number
  message: string
  headers?: Record<string, string>
}

function refusalOf({ headers, method = '' }: IncomingMessage, parts: QueuePageParts): Refusal | undefined {
  if (!hasPassword(headers.authorization, parts.password)) {
    const realm = { 'www-authenticate': 'Basic realm="queues", charset="UTF-8"' }
    return { status: 401, message: 'the password of QUEUE_PAGE_PASSWORD is needed', headers: realm }
  }
  if (method === 'GET' || method === 'HEAD') return undefined
  if (parts.mode === 'read') {
    const message = 'this page only reads: QUEUE_PAGE=write lets it write'
    return { status: 405, message, headers: { allow: 'GET, HEAD' } }
  }
  // A browser sends the password also for requests that another site's page makes.
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  return site === 'same-origin' ? undefined : { status: 403, message: 'another site may not write here' }
}

/** Compares in constant time. Any user name will do. */
function hasPassword(authorization: string | undefined, password: string): boolean {
  const [, credentials = ''] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? []
  const text = Buffer.from(credentials, 'base64').toString('utf8')
  const given = text.slice(text.indexOf(':') + 1)
  return text.includes(':') && timingSafeEqual(digestOf(given), digestOf(password))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function refuse(response: ServerResponse, { status, message, headers = {} }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify({ status: 'ERROR', message }))
}
