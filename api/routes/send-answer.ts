import type { FastifyReply, FastifyRequest } from 'fastify'
import { Behind } from '../plugins/errors.ts'
import type { Answer, Indexed } from '../queries/answer-cache.ts'

/** A browser asks each time whether its copy still holds; a CDN asks once a second for all its readers. */
const CACHE_CONTROL = 'public, max-age=0, s-maxage=1, must-revalidate'

/** A settled past stays: even a browser need not ask again for a day, in which a new version may correct a fault. */
const SETTLED_CACHE_CONTROL = 'public, max-age=86400'

/**
 * Sends the answer, or 304 when `If-None-Match` shows that the client has it (RFC 9110, section 13.1.2). The tag is
 * weak because an answer's compressed forms share it.
 */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, etag, indexed, isSettled = false }: Answer,
): FastifyReply {
  setIndexed(reply, indexed ?? null)
  reply.header('etag', `W/${etag}`).header('cache-control', isSettled ? SETTLED_CACHE_CONTROL : CACHE_CONTROL)
  const isKnown = knowsTag(request.headers['if-none-match'], etag)
  if (isKnown) reply.code(304)
  // A HEAD reports the length that a GET would send; Fastify leaves the body itself out.
  if (isKnown && request.method !== 'HEAD') return reply.send()
  return reply.type('application/json; charset=utf-8').send(body)
}

/**
 * Says how far the index was at the answer's moment. Throws {@link Behind} if the client asked for more: its statement
 * may have run on another replica than the look before it.
 */
export function setIndexed(reply: FastifyReply, indexed: Indexed): void {
  if (indexed === null) return
  const { minPosition } = reply.request
  if (indexed.position < minPosition) throw new Behind(minPosition)
  reply.header('x-position', indexed.position)
  addVary(reply, 'x-min-position')
  for (const [network, height] of Object.entries(indexed.heights)) {
    reply.header(`x-indexed-${network.replaceAll(/[^\w.-]/g, '-')}`, height)
  }
}

/** Tells caches that the answer depends on this header of the request. */
export function addVary(reply: FastifyReply, header: string): void {
  const before = reply.getHeader('vary')
  reply.header('vary', before === undefined ? header : `${String(before)}, ${header}`)
}

/** Whether the client's `If-None-Match` names this tag. */
export function knowsTag(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false
  return condition.split(',').some((one) => {
    const tag = one.trim()
    return tag === '*' || tag === etag || tag === `W/${etag}`
  })
}
