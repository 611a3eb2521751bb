import cors from '@fastify/cors'
import fp from 'fastify-plugin'

/** The wildcard is for the headers `X-Indexed-<network>`. */
const EXPOSED = ['ETag', 'Retry-After', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', '*']

/**
 * A plugin makes these anew for each request, which is a tenth of a kept answer's time. Only the proxy that holds the
 * certificate knows whether a host name is served over HTTPS only, so `Strict-Transport-Security` is left to it.
 */
const SECURITY = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** Sets the headers that control which pages may read answers and what a browser may do with them. */
export const headers = fp(
  async (app) => {
    await app.register(cors, {
      origin: app.config.API_CORS_ORIGINS,
      methods: ['GET', 'HEAD'],
      exposedHeaders: EXPOSED,
      strictPreflight: false,
      maxAge: 86_400,
    })
    app.addHook('onRequest', (request, reply, done) => {
      void reply.headers(SECURITY)
      // Pages of other origins may read the API's answers.
      const policy = request.url.startsWith('/api') ? 'cross-origin' : 'same-origin'
      void reply.header('cross-origin-resource-policy', policy)
      done()
    })
  },
  { name: 'headers', dependencies: ['services'] },
)
