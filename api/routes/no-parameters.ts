import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendError } from '../plugins/errors.ts'
import { unknownParameter } from '../schemas/parameters.ts'

/** For a route that takes no parameters: ignoring one would answer another question than was asked. */
export function noParameters(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const [name] = Object.keys(request.query as object)
  if (name === undefined) return done()
  sendError(reply, 400, unknownParameter(name))
}
