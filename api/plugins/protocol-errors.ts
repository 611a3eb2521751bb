import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { errorEnvelope, sendError } from './errors.ts'

/** Failures before a route is known: no hook has run, so these answers bring their own CORS header. */

export function onUnroutable(error: { statusCode?: number }, reply: FastifyReply): void {
  reply.header('access-control-allow-origin', '*')
  void sendError(reply, error.statusCode ?? 400, 'the URL is malformed')
}

const TOO_LARGE = 'HPE_HEADER_OVERFLOW'
const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/** What is not even HTTP, or never ends. */
export function onClientError(error: { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, message] = describe(error.code)
  const body = JSON.stringify(errorEnvelope(message))
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Access-Control-Allow-Origin: *',
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

function describe(code: string | undefined): [status: string, message: string] {
  if (code === TOO_LARGE) return ['431 Request Header Fields Too Large', 'the headers are too large']
  if (code === TIMED_OUT) return ['408 Request Timeout', 'the request took too long to arrive']
  return ['400 Bad Request', 'the request is not valid HTTP']
}
