import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { clientKey, isHealthCheck } from './client-key.ts'
import { RateWindows } from './rate-windows.ts'

export const rateLimitPerClient = fp(
  async (app) => {
    const { API_RATE_LIMIT: limit, API_TRUST_PROXY: proxies, REDIS_URL: redisUrl } = app.config
    if (proxies.length === 0) warnOfProxy(app)
    if (limit === null) return
    const windows = new RateWindows(redisUrl, app.log)
    app.addHook('onClose', () => windows.close())
    if (redisUrl !== undefined) app.metrics?.watchRedis(() => windows.isShared)
    await app.register(rateLimit, {
      max: limit.requests,
      timeWindow: limit.windowMs,
      keyGenerator: clientKey,
      allowList: isHealthCheck,
      enableDraftSpec: true,
      store: windows.storeClass(),
      onExceeded: () => app.metrics?.onRateLimited(),
      errorResponseBuilder: (_request, { after }) =>
        Object.assign(
          new Error(
            `too many requests: at most ${limit.requests} in ${limit.windowMs / 1000} s, try again in ${after}`,
          ),
          {
            statusCode: 429,
          },
        ),
    })
  },
  { name: 'rate-limit-per-client', dependencies: ['metrics', 'services'] },
)

/** Warns once: all clients behind an untrusted proxy share one limit. */
function warnOfProxy(app: FastifyInstance): void {
  let hasWarned = false
  app.addHook('onRequest', (request, _reply, done) => {
    if (!hasWarned && request.headers['x-forwarded-for'] !== undefined) {
      hasWarned = true
      // Without the address, which may be a client's.
      app.log.warn(
        'X-Forwarded-For is ignored, and all clients of that proxy share one limit: name the proxy in API_TRUST_PROXY',
      )
    }
    done()
  })
}
