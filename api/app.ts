import cors from '@fastify/cors'
import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { installCompression } from './plugins/compression.ts'
import { installErrors } from './plugins/errors.ts'
import { onClientError, onUnroutable } from './plugins/protocol-errors.ts'
import { createAnswerCache } from './queries/answer-cache.ts'
import type { ReadDatabase } from './queries/read-database.ts'
import { activityHistory } from './routes/activity-history.ts'
import { activitySearch } from './routes/activity-search.ts'
import { health } from './routes/health.ts'
import { loanLookups } from './routes/loan-lookups.ts'
import { status } from './routes/status.ts'

export interface AppOptions {
  database: ReadDatabase
  log: FastifyBaseLogger
  version: string
  /** Answers that are kept take so much at most; 0 keeps none. */
  keptBytes?: number
}

/** The HTTP server, not listening yet. Closing it leaves the database open. */
export async function buildApp({ database, log, version, keptBytes }: AppOptions): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: 10_000,
    // A page number of 3,000 digits is a page beyond the last, and a loan of that name no loan: as long as a URL may be here.
    routerOptions: { maxParamLength: 16 * 1024, ignoreTrailingSlash: true },
    // Each route answers HEAD itself: what Fastify adds would have another length than a compressed GET.
    exposeHeadRoutes: false,
    // What arrives on open connections while closing is still answered.
    return503OnClosing: false,
    frameworkErrors: (error, _request, reply) => onUnroutable(error, reply),
    clientErrorHandler: onClientError,
  })
  // First, so that errors carry its headers, too.
  await app.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD'],
    exposedHeaders: ['ETag', 'Retry-After'],
    strictPreflight: false,
    maxAge: 86_400,
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
