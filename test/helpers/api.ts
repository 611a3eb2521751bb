import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { buildApp } from '../../api/app.ts'
import { openReadDatabase } from '../../api/queries/read-database.ts'
import { createLogger } from '../../shared/log.ts'
import { testDatabase, type TestDatabase } from './database.ts'

export interface TestApi extends TestDatabase {
  app: FastifyInstance
}

/** The API on a database of its own; asked with `app.inject`. `url` reads another database. */
export async function testApi(t: Test, options: { url?: string } = {}): Promise<TestApi> {
  const own = await testDatabase(t)
  const database = openReadDatabase(options.url ?? own.url, { onError: () => undefined })
  const app = await buildApp({ database, log: createLogger('test', 'silent'), version: '0.0.0-test' })
  t.teardown(async () => {
    await app.close()
    await database.close()
  })
  return { ...own, app }
}
