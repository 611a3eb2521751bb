import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { errorEnvelope } from './errors.ts'

/** Long enough for a proxy that checks `/readyz` every half second, and takes one failure for an answer. */
const PROXY_NOTICES_MS = 2000
/** Nobody who checks readiness is slower. */
const CHECKED_WITHIN_MS = 30_000
/** Connections in use ask again within this time, and are told to close. */
const CLIENTS_NOTICE_MS = 300
/** Longer than any statement may take: a client without an answer by then has left. */
const LAST_ANSWERS_MS = 5000
const CLOSE_IDLE_EVERY_MS = 20

/** Leaves without breaking a request: `/readyz` says so first, then answers close their connections, then the idle go. */
export class Drain {
  private isDraining = false
  private checkedMs = -Infinity

  /** Must be registered before the routes. */
  register(app: FastifyInstance): void {
    app.addHook('onRequest', (request, reply, done) => {
      if (request.routeOptions.url === '/readyz') {
        this.checkedMs = performance.now()
        if (this.isDraining) {
          void reply.header('connection', 'close').code(503).send(errorEnvelope('this API is stopping'))
          return
        }
      }
      done()
    })
    app.addHook('onSend', (_request, reply, payload, done) => {
      if (this.isDraining) void reply.header('connection', 'close')
      done(null, payload)
    })
  }

  /** Resolves once everything was answered and the server is closed. */
  async close(app: FastifyInstance): Promise<void> {
    this.isDraining = true
    const isChecked = performance.now() - this.checkedMs < CHECKED_WITHIN_MS
    await delay(isChecked ? PROXY_NOTICES_MS : CLIENTS_NOTICE_MS)
    const idle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS)
    const last = setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MS)
    await app.close()
    clearInterval(idle)
    clearTimeout(last)
  }
}
