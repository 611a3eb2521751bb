import type { FastifyError, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { messageOf } from '../../shared/errors.ts'
import { Repeats } from '../../shared/repeats.ts'
import { DatabaseAway } from '../queries/read-database.ts'

const ALLOWED_METHODS = ['GET', 'HEAD', 'OPTIONS']

export interface ErrorEnvelope {
  status: 'ERROR'
  message: string
}

/** The request was not started; a retry later may succeed. */
export class Overloaded extends Error {
  override name = 'Overloaded'
}

/** The database does not have the log up to the position that the client asked for. */
export class Behind extends Error {
  override name = 'Behind'

  constructor(position: number) {
    super(`position ${position} is not here yet: try again, or ask without X-Min-Position`)
  }
}

export function errorEnvelope(message: string): ErrorEnvelope {
  return { status: 'ERROR', message }
}

export function sendError(reply: FastifyReply, code: number, message: string): FastifyReply {
  return reply
    .code(code)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorEnvelope(message)))
}

/** Sends every failure in one envelope. No message reveals internals. */
export const errors = fp(
  (app, _options, done) => {
    app.addHook('onRequest', async (request, reply) => {
      if (ALLOWED_METHODS.includes(request.method)) return
      reply.header('allow', ALLOWED_METHODS.join(', '))
      return sendError(reply, 405, `${request.method} is not allowed here: this API is read with GET`)
    })
    const away = new Repeats({ write: (line) => app.log.warn(line) })
    // Names what the routes begin with, so that no list of them has to be kept.
    const families = new Set<string>()
    app.addHook('onRoute', ({ url }) => {
      const [family] = /^\/api\/\w+/.exec(url) ?? []
      if (family !== undefined) families.add(family)
    })
    const notFound = (): string =>
      `there is no such route: routes begin with ${[...families].sort().join(', ')}; /docs has all`
    // Routes apply the limit themselves; this is for unknown routes.
    const preHandler = app.hasDecorator('rateLimit') ? app.rateLimit() : []
    app.setNotFoundHandler({ preHandler }, (_request, reply) => sendError(reply, 404, notFound()))
    app.setErrorHandler<FastifyError>((error, request, reply) => {
      if (error instanceof DatabaseAway) {
        away.note(`the database is away: ${messageOf(error.cause)}`)
        return sendError(reply.header('retry-after', '1'), 503, 'the database is away: try again')
      }
      if (error instanceof Behind) return sendError(reply.header('retry-after', '1'), 503, error.message)
      if (error instanceof Overloaded) {
        app.metrics?.onShed()
        return sendError(reply.header('retry-after', '1'), 503, error.message)
      }
      const code = error.statusCode ?? 500
      if (code >= 400 && code < 500) return sendError(reply, code, error.message)
      request.log.error({ err: error, route: request.routeOptions.url }, 'request failed')
      return sendError(reply, 500, 'internal error')
    })
    done()
  },
  { name: 'errors', dependencies: ['metrics', 'rate-limit-per-client'] },
)
