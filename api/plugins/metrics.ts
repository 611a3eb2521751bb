import fp from 'fastify-plugin'
import { addDatabaseMetrics, FiguresReader, sampleOf } from '../../shared/database-metrics.ts'
import { counter, createRegistry, gauge, histogram, type Registry } from '../../shared/metrics.ts'
import { getDatabaseFigures } from '../queries/database-figures.ts'
import type { ReadDatabase } from '../queries/read-database.ts'

/** One label for all requests without a route: their paths are anybody's. */
const UNKNOWN_ROUTE = 'unknown'
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** What the parts of the API report. */
export interface ApiMetrics {
  readonly registry: Registry
  onRequest: () => void
  /** The answer was sent whole, or its client is gone. */
  onEnd: () => void
  /** The duration is null for a stream, which lasts as long as its client wants. */
  onResponse: (route: string | undefined, status: number, ms: number | null) => void
  onShed: () => void
  onRateLimited: () => void
  /** Redis is exported only where the rate limit uses it. */
  watchRedis: (isUp: () => boolean) => void
}

export function createApiMetrics(database: ReadDatabase): ApiMetrics {
  const registry = createRegistry('api')
  addDatabaseMetrics(registry, new FiguresReader(() => getDatabaseFigures(database)))
  const durations = histogram(registry, {
    name: 'api_request_duration_seconds',
    help: 'Time from a request to the end of its answer, streams left out.',
    labels: ['route', 'status'],
    buckets: SECONDS,
  })
  const shed = counter(registry, {
    name: 'api_shed_total',
    help: 'Requests refused with 503 because the API had too much to do.',
  })
  const rateLimited = counter(registry, {
    name: 'api_rate_limited_total',
    help: 'Requests refused with 429 because of their client’s rate.',
  })
  let inFlight = 0
  gauge(registry, { name: 'api_requests_in_flight', help: 'Requests that are not answered yet.' }, () => [
    [{}, inFlight],
  ])
  let isRedisUp: (() => boolean) | null = null
  gauge(registry, { name: 'redis_up', help: '1 while Redis answers; only where REDIS_URL is set.' }, () =>
    sampleOf({}, isRedisUp === null ? null : Number(isRedisUp())),
  )
  return {
    registry,
    onRequest: () => (inFlight += 1),
    onEnd: () => (inFlight -= 1),
    onResponse: (route = UNKNOWN_ROUTE, status, ms) => {
      if (ms !== null) durations.observe({ route, status }, ms / 1000)
    },
    onShed: () => shed.inc(),
    onRateLimited: () => rateLimited.inc(),
    watchRedis: (isUp) => (isRedisUp = isUp),
  }
}

/** Measures all requests; without `metrics` it measures nothing and costs nothing. */
export const metrics = fp<{ metrics: ApiMetrics | null }>(
  (app, { metrics }, done) => {
    app.decorate('metrics', metrics)
    if (metrics !== null) {
      app.addHook('onRequest', (_request, reply, next) => {
        metrics.onRequest()
        // Fastify calls onResponse for whole answers alone.
        reply.raw.once('close', metrics.onEnd)
        next()
      })
      app.addHook('onResponse', (request, reply, next) => {
        const isStream = reply.getHeader('content-type') === 'text/event-stream'
        metrics.onResponse(request.routeOptions.url, reply.statusCode, isStream ? null : reply.elapsedTime)
        next()
      })
    }
    done()
  },
  { name: 'metrics' },
)

declare module 'fastify' {
  interface FastifyInstance {
    metrics: ApiMetrics | null
  }
}
