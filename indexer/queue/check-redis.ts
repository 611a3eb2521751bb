import { Redis } from 'ioredis'
import { addressOf, parseRedisUrl, redisPlace, type ClusterServers } from '../../shared/config/redis-url.ts'
import { messageOf } from '../../shared/errors.ts'
import { ClusterNodes } from '../../shared/redis/cluster-nodes.ts'
import { redisArguments } from '../../shared/redis/redis-arguments.ts'

/** Reply codes of Redis (the first word of an error) that a later attempt gets again, with what the operator can do. */
const REFUSALS: Record<string, string> = {
  WRONGPASS: 'refuses the user or the password: check both',
  NOAUTH: 'wants a password: write it as redis://:PASSWORD@host or redis://USER:PASSWORD@host',
  NOPERM: 'denies this user a command or key that the queue needs: check its ACL (docs: Redis users)',
}

const CONNECT_TIMEOUT_MS = 5_000

const OPTIONS = {
  ...{ lazyConnect: true, connectTimeout: CONNECT_TIMEOUT_MS, maxRetriesPerRequest: 0 },
  retryStrategy: () => null,
}

/**
 * Asks Redis once, on a connection of its own that does not retry: a wrong URL ends in a message, not in waiting. Asks each master
 * of a Cluster. Returns warnings for the operator. Rejects with one line that names REDIS_URL, and never quotes its password.
 */
export async function checkRedis(url: string): Promise<string[]> {
  const servers = parseRedisUrl(url)
  if (servers?.kind === 'cluster') return checkCluster(servers, redisPlace(url))
  const probe = new Redis(...redisArguments(url, '', OPTIONS))
  return checkServer(probe, redisPlace(url), async () => {
    await requireKind(probe)
    return evictionWarnings(probe, 'Redis')
  })
}

async function checkCluster(servers: ClusterServers, place: string): Promise<string[]> {
  const masters = await new ClusterNodes(servers).masters().catch((error: unknown) => {
    throw refusalAt(place, error)
  })
  const warnings = masters.map((master) => {
    const probe = new Redis({ ...OPTIONS, ...master, ...servers.login })
    const address = addressOf(master)
    return checkServer(probe, address, () => evictionWarnings(probe, `Redis at ${address}`))
  })
  return (await Promise.all(warnings)).flat()
}

async function checkServer(probe: Redis, place: string, look: () => Promise<string[]>): Promise<string[]> {
  let lastError: unknown
  probe.on('error', (error) => (lastError = error))
  try {
    await probe.connect()
    await probe.ping()
    const warnings = await look()
    // ioredis only emits a refused SELECT, and would go on with database 0.
    if (lastError instanceof Error) throw lastError
    return warnings
  } catch (error) {
    throw refusalAt(place, lastError ?? error)
  } finally {
    probe.disconnect()
  }
}

function refusalAt(place: string, error: unknown): Error {
  return new Error(`REDIS_URL: ${place} ${describeRefusal(error)}`)
}

/** Words of a server that is of another kind than its URL says. */
class OtherKind extends Error {}

/** A queue on a Cluster's node would fail forever with CROSSSLOT. A user may be denied INFO; then the queue tells. */
async function requireKind(probe: Redis): Promise<void> {
  const about = await probe.info('server').catch(() => '')
  if (/^redis_mode:cluster\s*$/m.test(about))
    throw new OtherKind('is a node of a Redis Cluster: write redis+cluster://host:port,host:port')
  if (/^redis_mode:sentinel\s*$/m.test(about))
    throw new OtherKind('is a Sentinel: write redis+sentinel://host:port,host:port/<master name>')
}

function describeRefusal(error: unknown): string {
  if (error instanceof OtherKind) return error.message
  const message = messageOf(error)
  const [code = ''] = message.split(' ')
  // Redis before version 6 answers AUTH without a code of its own.
  if (/^ERR (invalid password|AUTH )/i.test(message)) return REFUSALS['WRONGPASS'] ?? message
  if (REFUSALS[code] !== undefined) return REFUSALS[code]
  return `${isReply(error) ? 'cannot be used' : 'cannot be reached'}: ${message}`
}

/** True for a reply of Redis itself, which therefore can be reached. */
function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError'
}

/** Any eviction policy but "noeviction" may drop jobs. */
async function evictionWarnings(redis: Redis, name: string): Promise<string[]> {
  const reply = await redis.config('GET', 'maxmemory-policy').catch(() => undefined)
  const policy = Array.isArray(reply) ? String(reply[1]) : undefined
  if (policy === undefined)
    return [`${name} does not show its maxmemory-policy: make sure that it is "noeviction"`]
  if (policy === 'noeviction') return []
  return [`${name} has the maxmemory-policy "${policy}": set "noeviction", any other may drop jobs`]
}
