import { Redis } from 'ioredis'
import tap, { type Test } from 'tap'
import { startServices } from './services.ts'

/**
 * The URL of an empty Redis, or null without redis-server on this machine: the test then reports that and ends.
 *
 *     const redis = await testRedis(t)
 *     if (redis === null) return
 *
 * Each call gets its own database number from a counter in the server, so no two tests of a run share one.
 */
export async function testRedis(t: Test): Promise<string | null> {
  const given = process.env['TEST_REDIS_URL']
  if (given !== undefined) return nextDatabase(given)
  if (process.env['TEST_DATABASE_URL'] !== undefined) return missing(t)
  ownServer ??= startOwnServer()
  const own = await ownServer
  return own === null ? missing(t) : nextDatabase(own)
}

let ownServer: Promise<string | null> | undefined

async function startOwnServer(): Promise<string | null> {
  const services = await startServices(['redis'])
  tap.teardown(() => services.stop())
  return services.redisUrl
}

/** The counter is kept in database 0, which no test gets. */
async function nextDatabase(url: string): Promise<string> {
  const server = new Redis(url)
  try {
    return `${url}/${await server.incr('databases-taken')}`
  } finally {
    server.disconnect()
  }
}

/** A laptop may lack Redis; in CI a missing service is a failure. */
function missing(t: Test): null {
  const reason = 'redis-server is not installed: `apt-get install redis-server`'
  if (process.env['CI'] === 'true') t.fail(reason)
  else t.comment(`skipped: ${reason}`)
  t.end()
  return null
}
