import { setTimeout as delay } from 'node:timers/promises'
import fp from 'fastify-plugin'
import { errorEnvelope } from './errors.ts'

/** Long enough for a proxy that checks `/readyz` every half second and reacts to one failure. */
const PROXY_NOTICES_MS = 2000
/** No readiness check comes at longer intervals. */
const CHECKED_WITHIN_MS = 30_000
/** Connections in use send another request within this time and learn that they must close. */
const CLIENTS_NOTICE_MS = 300
/** Longer than any statement may take. A client may read its last answer or finish its request within this time. */
const LAST_ANSWERS_MS = 5000

/**
 * Shuts down without breaking a request: `/readyz` fails first, then answers close their connections, then idle
 * connections close.
 */
export const drain = fp(
  (app, _options, done) => {
    let isDraining = false
    let checkedMs = -Infinity
    app.addHook('onRequest', (request, reply, next) => {
      if (request.routeOptions.url === '/readyz') {
        checkedMs = performance.now()
        if (isDraining) {
          void reply.header('connection', 'close').code(503).send(errorEnvelope('this API is stopping'))
          return
        }
      }
      next()
    })
    app.addHook('onSend', (_request, reply, payload, next) => {
      if (isDraining) void reply.header('connection', 'close')
      next(null, payload)
    })
    app.decorate('drain', async () => {
      isDraining = true
      const isChecked = performance.now() - checkedMs < CHECKED_WITHIN_MS
      await delay(isChecked ? PROXY_NOTICES_MS : CLIENTS_NOTICE_MS)
      const last = setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MS)
      await app.close()
      clearTimeout(last)
    })
    done()
  },
  { name: 'drain' },
)

declare module 'fastify' {
  interface FastifyInstance {
    /** Resolves once every request was answered and the server is closed. */
    drain: () => Promise<void>
  }
}
