import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { buildApp, type ApiSettings } from '../../api/app.ts'
import { openReadDatabase } from '../../api/queries/read-database.ts'
import { createLogger } from '../../shared/log.ts'
import { testDatabase, type TestDatabase } from './database.ts'

export interface TestApi extends TestDatabase {
  app: FastifyInstance
}

/**
 * Builds the API on a database of its own, for `app.inject`. `url` reads another database; there is no limit by
 * default.
 */
export async function testApi(
  t: Test,
  options: { url?: string; settings?: Partial<ApiSettings>; log?: FastifyBaseLogger } = {},
): Promise<TestApi> {
  const own = await testDatabase(t)
  const database = openReadDatabase(options.url ?? own.url, { onError: () => undefined })
  const app = await buildApp({
    database,
    log: options.log ?? createLogger('test', 'silent'),
    version: '0.0.0-test',
    settings: { API_CORS_ORIGINS: '*', API_RATE_LIMIT: null, API_TRUST_PROXY: [], ...options.settings },
  })
  t.teardown(async () => {
    await app.close()
    await database.close()
  })
  return { ...own, app }
}
