import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendError } from '../plugins/errors.ts'

const MAX_QUOTED = 100

/**
 * For a route that takes no parameters: one that is not known is a mistake, and an answer without it would be another one
 * than was asked for.
 */
export function noParameters(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const [name] = Object.keys(request.query as object)
  if (name === undefined) return done()
  sendError(reply, 400, `there is no parameter "${name.slice(0, MAX_QUOTED)}" here`)
}
