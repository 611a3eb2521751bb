/** The servers that REDIS_URL names, as options of ioredis. */

export interface HostAndPort {
  host: string
  port: number
}

interface Login {
  username?: string
  password?: string
  tls?: object
}

/** ioredis speaks TLS with the Sentinels, and with the master that they name, only if told so of each. */
interface SentinelTls {
  sentinelTLS?: object
  enableTLSForSentinelMode?: boolean
}

/** Some nodes of a Cluster, which know the others, and what logs in to each. */
export interface ClusterServers {
  nodes: HostAndPort[]
  login: Login
}

export type RedisServers =
  | { kind: 'single'; url: string }
  | {
      kind: 'sentinel'
      options: Login & {
        sentinels: HostAndPort[]
        name: string
        db: number
        sentinelPassword?: string
      } & SentinelTls
    }
  | ({ kind: 'cluster' } & ClusterServers)

/** The forms of REDIS_URL, for messages. */
export const REDIS_FORMS =
  'redis://, rediss://, redis+sentinel://host:port,host:port/<master name> or redis+cluster://host:port,host:port'

const [REDIS, SENTINEL] = [/^rediss?:\/\//i, /^redis(s?)\+sentinel:\/\/(.*)$/i]
const CLUSTER = /^redis(s?)\+cluster:\/\/(.*)$/i
const [SENTINEL_PORT, REDIS_PORT] = [26_379, 6_379]

/** Undefined if the text has none of the {@link REDIS_FORMS}. */
export function parseRedisUrl(text: string): RedisServers | undefined {
  if (REDIS.test(text)) return URL.canParse(text) ? { kind: 'single', url: text } : undefined
  const sentinel = parseServers(SENTINEL.exec(text), SENTINEL_PORT)
  if (sentinel !== undefined) return sentinelServers(sentinel)
  const cluster = parseServers(CLUSTER.exec(text), REDIS_PORT)
  // A Cluster has database 0 alone.
  if (cluster === undefined || cluster.path !== '' || cluster.parameters.size > 0) return undefined
  return { kind: 'cluster', nodes: cluster.servers, login: cluster.login }
}

function sentinelServers({ servers: sentinels, login, path, parameters }: Parsed): RedisServers | undefined {
  const db = parameters.get('db') ?? '0'
  if (!/^[^/]+$/.test(path) || !/^\d{1,4}$/.test(db)) return undefined
  const sentinelPassword = parameters.get('sentinelPassword') ?? ''
  const tls = login.tls === undefined ? {} : { sentinelTLS: {}, enableTLSForSentinelMode: true }
  const options = { sentinels, name: decoded(path), db: Number(db), ...login, ...tls }
  return { kind: 'sentinel', options: { ...options, ...(sentinelPassword !== '' && { sentinelPassword }) } }
}

/** Hosts and ports of the servers, for messages. */
export function redisPlace(text: string): string {
  const servers = parseRedisUrl(text)
  if (servers === undefined) return 'Redis'
  if (servers.kind === 'single') return new URL(servers.url).host
  const all = servers.kind === 'cluster' ? servers.nodes : servers.options.sentinels
  return all.map(addressOf).join(',')
}

/** As it stands in a URL. */
export function addressOf({ host, port }: HostAndPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Passwords of such a URL beside the one that {@link URL} finds. */
export function redisPasswords(text: string): string[] {
  const servers = parseRedisUrl(text)
  if (servers === undefined || servers.kind === 'single') return []
  const passwords =
    servers.kind === 'cluster'
      ? [servers.login.password]
      : [servers.options.password, servers.options.sentinelPassword]
  return passwords.flatMap((one) => (one === undefined ? [] : [one, encodeURIComponent(one)]))
}

interface Parsed {
  servers: HostAndPort[]
  login: Login
  path: string
  parameters: URLSearchParams
}

/** `found` has the `s` of TLS and all after the slashes. `URL` reads no list of hosts, so each becomes a URL of its own. */
function parseServers(found: RegExpExecArray | null, defaultPort: number): Parsed | undefined {
  const [, tls, rest = ''] = found ?? []
  const [, user, hosts = '', path = '', query = ''] =
    /^(?:([^@/?#]*)@)?([^@/?#]+)\/?([^?#]*)(?:\?([^#]*))?$/.exec(rest) ?? []
  const urls = hosts.split(',').map((host) => `redis://${user === undefined ? '' : `${user}@`}${host}`)
  if (!urls.every((url) => URL.canParse(url))) return undefined
  const servers = urls.map((url) => {
    const { hostname, port } = new URL(url)
    return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? defaultPort : Number(port) }
  })
  if (servers.some(({ host }) => host === '')) return undefined
  const { username, password } = new URL(urls[0] ?? '')
  return {
    servers,
    login: {
      ...(username !== '' && { username: decoded(username) }),
      ...(password !== '' && { password: decoded(password) }),
      ...(tls !== '' && { tls: {} }),
    },
    path,
    parameters: new URLSearchParams(query),
  }
}

/** A text with a % that begins no escape stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
