import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Environment } from '../shared/config/config.ts'
import { PacedServer } from './connections/paced-server.ts'
import { installCompression } from './plugins/compression.ts'
import { Drain } from './plugins/drain.ts'
import { installErrors } from './plugins/errors.ts'
import { setHeaders } from './plugins/headers.ts'
import { limitLoad } from './plugins/load.ts'
import { protocolErrors } from './plugins/protocol-errors.ts'
import { limitRate } from './plugins/rate-limit.ts'
import { createAnswerCache } from './queries/answer-cache.ts'
import type { ReadDatabase } from './queries/read-database.ts'
import { activityHistory } from './routes/activity-history.ts'
import { activitySearch } from './routes/activity-search.ts'
import { health } from './routes/health.ts'
import { loanLookups } from './routes/loan-lookups.ts'
import { status } from './routes/status.ts'

/** Limits and headers of the API, as the environment gives them. */
export type ApiSettings = Pick<
  Environment,
  'API_CORS_ORIGINS' | 'API_RATE_LIMIT' | 'API_TRUST_PROXY' | 'REDIS_URL'
>

const UNLIMITED: ApiSettings = { API_CORS_ORIGINS: '*', API_RATE_LIMIT: null, API_TRUST_PROXY: [] }

export interface AppOptions {
  database: ReadDatabase
  log: FastifyBaseLogger
  version: string
  /** Answers that are kept take so much at most; 0 keeps none. */
  keptBytes?: number
  /** The default: any origin, and no limit per client. */
  settings?: ApiSettings
  /** Closes the app without breaking a request; one that nobody asks by default. */
  drain?: Drain
}

/** The HTTP server, not listening yet. Closing it leaves the database open. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { database, log, version, keptBytes, settings = UNLIMITED, drain = new Drain() } = options
  const { API_CORS_ORIGINS: corsOrigins, API_TRUST_PROXY: proxies } = settings
  const { onUnroutable, onClientError } = protocolErrors(corsOrigins)
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    serverFactory: (handler) => new PacedServer(handler),
    // A page number of 3,000 digits is a page beyond the last, and a loan of that name no loan: as long as a URL may be here.
    routerOptions: { maxParamLength: 16 * 1024, ignoreTrailingSlash: true },
    // Each route answers HEAD itself: what Fastify adds would have another length than a compressed GET.
    exposeHeadRoutes: false,
    // What arrives on open connections while closing is still answered.
    return503OnClosing: false,
    trustProxy: proxies.length > 0 && proxies,
    frameworkErrors: onUnroutable,
    clientErrorHandler: onClientError,
  })
  // First, so that refusals carry its headers, too.
  await setHeaders(app, corsOrigins)
  drain.register(app)
  await limitLoad(app)
  await limitRate(app, {
    limit: settings.API_RATE_LIMIT,
    redisUrl: settings.REDIS_URL,
    trustsProxy: proxies.length > 0,
  })
  await installCompression(app)
  installErrors(app)
  const cache = createAnswerCache(database, keptBytes)
  activityHistory(app, database, cache)
  activitySearch(app, database)
  loanLookups(app, database, cache)
  status(app, database, version)
  health(app, database)
  return app
}
