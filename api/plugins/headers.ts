import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import fp from 'fastify-plugin'

/** The wildcard is for the headers `X-Indexed-<network>`. */
const EXPOSED = ['ETag', 'Retry-After', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', '*']

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
    await app.register(helmet, {
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
      },
      // Only the proxy that holds the certificate knows whether a host name is served over HTTPS only.
      strictTransportSecurity: false,
      crossOriginResourcePolicy: { policy: 'same-origin' },
    })
    app.addHook('onRequest', (request, reply, done) => {
      if (request.url.startsWith('/api')) void reply.header('cross-origin-resource-policy', 'cross-origin')
      done()
    })
  },
  { name: 'headers', dependencies: ['services'] },
)
