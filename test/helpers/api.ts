import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { buildApp, type ApiSettings } from '../../api/app.ts'
import { openReadDatabase } from '../../api/queries/read-database.ts'
import type { StreamLimits } from '../../api/stream/open-streams.ts'
import { createLogger } from '../../shared/log.ts'
import { testDatabase, type TestDatabase } from './database.ts'
import { checkAnswers } from './documented-answers.ts'

export interface TestApi extends TestDatabase {
  app: FastifyInstance
}

/**
 * Builds the API on a database of its own, for `app.inject`. `url` reads another database; there is no limit by
 * default. Each answer must be as the OpenAPI document says.
 */
export async function testApi(
  t: Test,
  options: {
    url?: string
    /** Whether `url` leads through a pooler in transaction mode. */
    sharesSessions?: boolean
    settings?: Partial<ApiSettings>
    log?: FastifyBaseLogger
    /** False for records that no indexer writes: answers may then differ from the OpenAPI document. */
    asDocumented?: boolean
    streamLimits?: StreamLimits
    exportTextWithinMs?: number
    pageFolder?: URL
  } = {},
): Promise<TestApi> {
  const own = await testDatabase(t)
  const { sharesSessions = false } = options
  const database = openReadDatabase(options.url ?? own.url, { sharesSessions, onError: () => undefined })
  const app = await buildApp({
    database,
    log: options.log ?? createLogger('test', 'silent'),
    version: '0.0.0-test',
    ...(options.streamLimits === undefined ? {} : { streamLimits: options.streamLimits }),
    ...(options.exportTextWithinMs === undefined ? {} : { exportTextWithinMs: options.exportTextWithinMs }),
    ...(options.pageFolder === undefined ? {} : { pageFolder: options.pageFolder }),
    settings: { API_CORS_ORIGINS: '*', API_RATE_LIMIT: null, API_TRUST_PROXY: [], ...options.settings },
  })
  if (options.asDocumented !== false) await checkAnswers(app)
  t.teardown(async () => {
    await app.close()
    await database.close()
  })
  return { ...own, app }
}
