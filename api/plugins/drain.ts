import { setTimeout as delay } from 'node:timers/promises'
import fp from 'fastify-plugin'
import { errorEnvelope } from './errors.ts'

/** Long enough for a proxy that checks `/readyz` every half second, and takes one failure for an answer. */
const PROXY_NOTICES_MS = 2000
/** Nobody who checks readiness is slower. */
const CHECKED_WITHIN_MS = 30_000
/** Connections in use ask again within this time, and are told to close. */
const CLIENTS_NOTICE_MS = 300
/** Longer than any statement may take. Until then a client may take its last answer, or finish its request. */
const LAST_ANSWERS_MS = 5000

/** Leaves without breaking a request: `/readyz` says so first, then answers close their connections, then the idle go. */
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
    /** Resolves once everything was answered and the server is closed. */
    drain: () => Promise<void>
  }
}
