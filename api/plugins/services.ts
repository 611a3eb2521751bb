import fp from 'fastify-plugin'
import type { Environment } from '../../shared/config/config.ts'
import { createAnswerCache, type AnswerCache } from '../queries/answer-cache.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import type { StreamLimits } from '../stream/open-streams.ts'

/** The API's limits and headers from the environment. */
export type ApiSettings = Pick<
  Environment,
  'API_CORS_ORIGINS' | 'API_RATE_LIMIT' | 'API_TRUST_PROXY' | 'REDIS_URL'
> &
  Partial<Pick<Environment, 'API_REQUEST_LOG'>>

export interface ApiConfig extends ApiSettings {
  /** The package's version, for `/api/status`. */
  packageVersion: string
  streamLimits: StreamLimits
  /** Milliseconds in which an export's reader must take each of its texts. */
  exportTextWithinMs: number
}

export interface ServiceOptions {
  database: ReadDatabase
  config: ApiConfig
  /** Bytes of answers kept at most; 0 keeps none. */
  keptBytes?: number | undefined
}

/** Decorates the app with the parts that routes and other plugins need. Closing the app leaves the database open. */
export const services = fp<ServiceOptions>(
  (app, { database, config, keptBytes }, done) => {
    app.decorate('database', database)
    app.decorate('answers', createAnswerCache(database, keptBytes))
    app.decorate('config', config)
    done()
  },
  { name: 'services' },
)

declare module 'fastify' {
  interface FastifyInstance {
    database: ReadDatabase
    answers: AnswerCache
    config: ApiConfig
  }
}
