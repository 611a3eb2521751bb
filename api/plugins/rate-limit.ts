import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import type { RateLimit } from '../../shared/config/api-settings.ts'
import { clientKey, isHealthCheck } from './client-key.ts'
import { RateWindows } from './rate-windows.ts'

export interface RateLimitSettings {
  /** Null: no limit. */
  limit: RateLimit | null
  /** Counts requests of all copies of the API together. */
  redisUrl?: string | undefined
  trustsProxy: boolean
}

/** Limits each client's requests. Must be registered before the routes. */
export async function limitRate(app: FastifyInstance, settings: RateLimitSettings): Promise<void> {
  if (!settings.trustsProxy) warnOfProxy(app)
  const { limit, redisUrl } = settings
  if (limit === null) return
  const windows = new RateWindows(redisUrl, app.log)
  app.addHook('onClose', () => windows.close())
  await app.register(rateLimit, {
    max: limit.requests,
    timeWindow: limit.windowMs,
    keyGenerator: clientKey,
    allowList: isHealthCheck,
    enableDraftSpec: true,
    store: windows.storeClass(),
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
}

/** Once: all clients of a proxy that is not trusted share one limit. */
function warnOfProxy(app: FastifyInstance): void {
  let hasWarned = false
  app.addHook('onRequest', (request, _reply, done) => {
    if (!hasWarned && request.headers['x-forwarded-for'] !== undefined) {
      hasWarned = true
      app.log.warn(
        { from: request.ip },
        'X-Forwarded-For is ignored, and all clients of that proxy share one limit: name the proxy in API_TRUST_PROXY',
      )
    }
    done()
  })
}
