import fp from 'fastify-plugin'
import type { Environment } from '../../shared/config/config.ts'
import { createAnswerCache, type AnswerCache } from '../queries/answer-cache.ts'
import type { ReadDatabase } from '../queries/read-database.ts'

/** Limits and headers of the API, as the environment gives them. */
export type ApiSettings = Pick<
  Environment,
  'API_CORS_ORIGINS' | 'API_RATE_LIMIT' | 'API_TRUST_PROXY' | 'REDIS_URL'
>

export interface ApiConfig extends ApiSettings {
  /** The version of the package, for `/api/status`. */
  packageVersion: string
}

export interface ServiceOptions {
  database: ReadDatabase
  config: ApiConfig
  /** Bytes of the answers that are kept; 0 keeps none. */
  keptBytes?: number | undefined
}

/** Decorates the app with the parts that routes and other plugins need. The database stays open when the app is closed. */
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
