import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorEnvelope, sendError } from './errors.ts'

const TOO_LARGE = 'HPE_HEADER_OVERFLOW'
const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT'
/** Time for a client to read why the server closes its connection. */
const LAST_WORDS_MS = 1000

export interface ProtocolErrors {
  /** Handles a malformed URL. */
  onUnroutable: (error: { statusCode?: number }, request: FastifyRequest, reply: FastifyReply) => void
  /** Handles a request that is not HTTP, too large or too slow. */
  onClientError: (error: { code?: string }, socket: Duplex) => void
}

/** Handles failures before a route is known: no hook has run, so these answers set their own CORS header. */
export function protocolErrors(corsOrigins: '*' | string[]): ProtocolErrors {
  return {
    onUnroutable: (error, { headers: { origin } }, reply) => {
      if (corsOrigins === '*') reply.header('access-control-allow-origin', '*')
      else if (origin !== undefined && corsOrigins.includes(origin)) {
        reply.header('access-control-allow-origin', origin).header('vary', 'Origin')
      }
      void sendError(reply, error.statusCode ?? 400, 'the URL is malformed')
    },
    onClientError: (error, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy()
        return
      }
      socket.end(lastWords(error.code, corsOrigins === '*' ? ['Access-Control-Allow-Origin: *'] : []))
      setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref()
    },
  }
}

function lastWords(code: string | undefined, headers: string[]): string {
  const [status, message] = describe(code)
  const body = JSON.stringify(errorEnvelope(message))
  return [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

function describe(code: string | undefined): [status: string, message: string] {
  if (code === TOO_LARGE) return ['431 Request Header Fields Too Large', 'the headers are too large']
  if (code === TIMED_OUT) return ['408 Request Timeout', 'the request took too long to arrive']
  return ['400 Bad Request', 'the request is not valid HTTP']
}
