import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

const EXPOSED = ['ETag', 'Retry-After', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

/** Headers that say which pages may read answers and what a browser may do with them. */
export async function setHeaders(app: FastifyInstance, corsOrigins: '*' | string[]): Promise<void> {
  await app.register(cors, {
    origin: corsOrigins,
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
    // Whether a name is served over HTTPS only is known to the proxy that has its certificate.
    strictTransportSecurity: false,
    crossOriginResourcePolicy: { policy: 'same-origin' },
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (request.url.startsWith('/api')) void reply.header('cross-origin-resource-policy', 'cross-origin')
    done()
  })
}
