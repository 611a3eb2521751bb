import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from '../queries/answer-cache.ts'

/** Sends it, or says that the client has it already: 304, by `If-None-Match` (RFC 9110, section 13.1.2). */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, etag }: Answer,
): FastifyReply {
  reply.header('etag', etag).header('cache-control', 'no-cache')
  if (hasIt(request.headers['if-none-match'], etag)) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(body)
}

function hasIt(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false
  return condition.split(',').some((one) => {
    const tag = one.trim()
    return tag === '*' || tag === etag || tag === `W/${etag}`
  })
}
