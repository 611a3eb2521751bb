import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { PacedServer } from './connections/paced-server.ts'
import { TEXT_WITHIN_MS } from './exports/taken-in-time.ts'
import { compression } from './plugins/compression.ts'
import { drain } from './plugins/drain.ts'
import { errors } from './plugins/errors.ts'
import { headers } from './plugins/headers.ts'
import { loadLimit } from './plugins/load.ts'
import { metrics, type ApiMetrics } from './plugins/metrics.ts'
import { minPosition } from './plugins/min-position.ts'
import { openapi } from './plugins/openapi.ts'
import { protocolErrors } from './plugins/protocol-errors.ts'
import { requestLog } from './plugins/request-log.ts'
import { rateLimitPerClient } from './plugins/rate-limit.ts'
import { schemas } from './plugins/schemas.ts'
import { services, type ApiSettings } from './plugins/services.ts'
import type { ReadDatabase } from './queries/read-database.ts'
import { activityHistory } from './routes/activity-history.ts'
import { activityRecord } from './routes/activity-record.ts'
import { activitySearch } from './routes/activity-search.ts'
import { activityStream } from './routes/activity-stream.ts'
import { channelLoans } from './routes/channel-loans.ts'
import { dailyFigures } from './routes/daily-figures.ts'
import { health } from './routes/health.ts'
import { loanAssets } from './routes/loan-assets.ts'
import { loanLists } from './routes/loan-lists.ts'
import { loanLookups } from './routes/loan-lookups.ts'
import { loanNext } from './routes/loan-next.ts'
import { openapiDocument } from './routes/openapi-document.ts'
import { page } from './routes/page.ts'
import { protocolContracts } from './routes/protocol-contracts.ts'
import { status } from './routes/status.ts'
import { STREAM_LIMITS, type StreamLimits } from './stream/open-streams.ts'

export type { ApiSettings } from './plugins/services.ts'

const UNLIMITED: ApiSettings = { API_CORS_ORIGINS: '*', API_RATE_LIMIT: null, API_TRUST_PROXY: [] }

export interface AppOptions {
  database: ReadDatabase
  log: FastifyBaseLogger
  version: string
  /** Bytes of answers kept at most; 0 keeps none. */
  keptBytes?: number
  /** Defaults to any origin and no limit per client. */
  settings?: ApiSettings
  streamLimits?: StreamLimits
  exportTextWithinMs?: number
  /** The built page; found by itself if omitted. */
  pageFolder?: URL
  /** Hears of every request; nothing is measured without it. */
  metrics?: ApiMetrics
}

/** Returns the HTTP server, not yet listening. Closing it leaves the database open. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const {
    database,
    log,
    version,
    keptBytes,
    settings = UNLIMITED,
    streamLimits = STREAM_LIMITS,
    exportTextWithinMs = TEXT_WITHIN_MS,
    pageFolder,
  } = options
  const { API_TRUST_PROXY: proxies } = settings
  const { onUnroutable, onClientError } = protocolErrors(settings.API_CORS_ORIGINS)
  const app = fastify({
    loggerInstance: log,
    // Lines of requests come from the request log, which leaves out addresses and query strings.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'id' }),
    serverFactory: (handler) => new PacedServer(handler),
    // A page or loan number of 3,000 digits is valid and finds nothing, so parameters may be as long as a URL.
    routerOptions: { maxParamLength: 16 * 1024, ignoreTrailingSlash: true },
    // Each route answers HEAD itself: Fastify's own HEAD would report another length than the compressed GET.
    exposeHeadRoutes: false,
    // Requests that arrive on open connections during shutdown are still answered.
    return503OnClosing: false,
    trustProxy: proxies.length > 0 && proxies,
    frameworkErrors: onUnroutable,
    clientErrorHandler: onClientError,
  })
  app.register(services, {
    database,
    keptBytes,
    config: { ...settings, packageVersion: version, streamLimits, exportTextWithinMs },
  })
  // Registered before the plugins that refuse requests, so that refusals are measured too.
  app.register(metrics, { metrics: options.metrics ?? null })
  app.register(requestLog)
  app.register(schemas)
  // Registered before the plugins that refuse requests, so that refusals carry its headers too.
  app.register(headers)
  app.register(drain)
  app.register(loadLimit)
  app.register(rateLimitPerClient)
  app.register(minPosition)
  app.register(compression)
  app.register(errors)
  app.register(openapi)
  app.register(openapiDocument)
  app.register(activityHistory)
  app.register(activitySearch)
  app.register(activityStream)
  app.register(activityRecord)
  app.register(loanLookups)
  app.register(loanNext)
  app.register(loanLists)
  app.register(channelLoans)
  app.register(protocolContracts)
  app.register(loanAssets)
  app.register(dailyFigures)
  app.register(status)
  app.register(health)
  app.register(page, { folder: pageFolder })
  await app.after()
  return app
}
