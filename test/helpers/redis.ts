import tap, { type Test } from 'tap'
import { startServices } from './services.ts'

/**
 * The URL of an empty Redis, or null when this machine has no redis-server: then the test says so and ends.
 *
 *     const redis = await testRedis(t)
 *     if (redis === null) return
 *
 * Each call has a database number of its own, taken in turn from the 512 that the test server has; it is never
 * given twice to one process, and processes start at different numbers. Use a key prefix where a test must be
 * alone for certain.
 */
export async function testRedis(t: Test): Promise<string | null> {
  const given = process.env['TEST_REDIS_URL']
  if (given !== undefined) return `${given}/${nextDatabase()}`
  if (process.env['TEST_DATABASE_URL'] !== undefined) return missing(t)
  ownServer ??= startOwnServer()
  const own = await ownServer
  return own === null ? missing(t) : `${own}/${nextDatabase()}`
}

let ownServer: Promise<string | null> | undefined

async function startOwnServer(): Promise<string | null> {
  const services = await startServices(['redis'])
  tap.teardown(() => services.stop())
  return services.redisUrl
}

let taken = (process.pid * 16) % 512

function nextDatabase(): number {
  taken = (taken + 1) % 512
  return taken
}

/** A laptop without Redis may go on; in CI a missing service is a failure. */
function missing(t: Test): null {
  const reason = 'redis-server is not installed: `apt-get install redis-server`'
  if (process.env['CI'] === 'true') t.fail(reason)
  else t.comment(`skipped: ${reason}`)
  t.end()
  return null
}
