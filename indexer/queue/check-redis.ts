import type { Redis } from 'ioredis'
import { redisPlace } from '../../shared/config/redis-url.ts'
import { messageOf } from '../../shared/errors.ts'
import { openRedis, withoutPolicy } from './queue-redis.ts'

/** Reply codes of Redis (the first word of an error) that a later attempt gets again, with what the operator can do. */
const REFUSALS: Record<string, string> = {
  WRONGPASS: 'refuses the user or the password: check both',
  NOAUTH: 'wants a password: write it as redis://:PASSWORD@host or redis://USER:PASSWORD@host',
  NOPERM: 'denies this user a command or key that the queue needs: check its ACL (docs: Redis users)',
}

const CONNECT_TIMEOUT_MS = 5_000

/**
 * Asks Redis once, on a connection of its own that does not retry: a wrong URL ends in a message, not in waiting.
 * Returns warnings for the operator. Rejects with one line that names REDIS_URL, and never quotes its password.
 */
export async function checkRedis(url: string): Promise<string[]> {
  const options = { lazyConnect: true, connectTimeout: CONNECT_TIMEOUT_MS, maxRetriesPerRequest: 0 }
  const probe = openRedis(url, { ...options, retryStrategy: () => null }, withoutPolicy)
  let lastError: unknown
  probe.on('error', (error) => (lastError = error))
  try {
    await probe.connect()
    await probe.ping()
    await requireKind(probe)
    // ioredis only emits a refused SELECT, and would go on with database 0.
    if (lastError instanceof Error) throw lastError
    return await evictionWarnings(probe)
  } catch (error) {
    throw new Error(`REDIS_URL: ${redisPlace(url)} ${describeRefusal(lastError ?? error)}`)
  } finally {
    probe.disconnect()
  }
}

/** Words of a server that is of another kind than its URL says. */
class OtherKind extends Error {}

/** A queue on a Cluster's node would fail forever with CROSSSLOT. A user may be denied INFO; then the queue tells. */
async function requireKind(probe: Redis): Promise<void> {
  const about = await probe.info('server').catch(() => '')
  if (/^redis_mode:cluster\s*$/m.test(about))
    throw new OtherKind(
      'is a node of a Redis Cluster, which cannot keep the queue: use one server, or Sentinel',
    )
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
async function evictionWarnings(redis: Redis): Promise<string[]> {
  const reply = await redis.config('GET', 'maxmemory-policy').catch(() => undefined)
  const policy = Array.isArray(reply) ? String(reply[1]) : undefined
  if (policy === undefined)
    return ['Redis does not show its maxmemory-policy: make sure that it is "noeviction"']
  if (policy === 'noeviction') return []
  return [`Redis has the maxmemory-policy "${policy}": set "noeviction", any other may drop jobs`]
}
