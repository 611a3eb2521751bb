import { accessSync, constants, readFileSync } from 'node:fs'
import * as z from 'zod'
import { ConfigError, messageOf } from '../errors.ts'
import { PLAIN_KEY, validate } from '../mistake.ts'
import { passwordInUrl, rememberSecrets, tokensInUrl } from '../secrets.ts'
import { corsOriginsSchema, rateLimitSchema, trustProxySchema } from './api-settings.ts'
import { networksSchema, type Networks } from './networks.ts'
import { parseRedisUrl, REDIS_FORMS, redisPasswords } from './redis-url.ts'
import { secretOf, type EnvironmentSource } from './secret-files.ts'
import { webhooksSchema, type Webhook } from './webhooks.ts'

/** The only reader of the environment, which it parses once. Its errors name the variable. */

const portSchema = z
  .string()
  .regex(/^\d+$/, 'must be a port number')
  .transform(Number)
  .refine((port) => port <= 65535, 'must be a port number up to 65535')

const urlSchema = (...schemes: string[]) =>
  z.string().refine(
    // Without the slashes, `postgres:/x` would be a URL that names no host.
    (text) => URL.canParse(text) && schemes.some((scheme) => text.toLowerCase().startsWith(`${scheme}//`)),
    `must be a URL that starts with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`,
  )

/** Files that a database URL may name, with the certificates of either side. */
const CERTIFICATE_FILES = ['sslrootcert', 'sslcert', 'sslkey']

const databaseUrlSchema = urlSchema('postgres:', 'postgresql:').superRefine((text, context) => {
  if (!URL.canParse(text)) return
  const { searchParams } = new URL(text)
  for (const name of CERTIFICATE_FILES) {
    const file = searchParams.get(name)
    // An empty name counts as none, as in node-postgres.
    if (file === null || file === '' || isReadable(file)) continue
    // The message omits the file's name, which may contain anything, even line breaks.
    context.addIssue({
      code: 'custom',
      message: `names a file as ${name} that is not there or cannot be read`,
    })
  }
})

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

export const environmentSchema = z.object({
  DATABASE_URL: databaseUrlSchema.optional(),
  READ_DATABASE_URL: databaseUrlSchema.optional(),
  REDIS_URL: z
    .string()
    .refine((text) => parseRedisUrl(text) !== undefined, `must be a URL of the form ${REDIS_FORMS}`)
    .optional(),
  NETWORKS_FILE: z.string().optional(),
  /** Whether an indexer reads chains into the queue, writes from the queue into Postgres, or both. */
  INDEXER_ROLE: z.enum(['all', 'reader', 'writer']).default('all'),
  API_HOST: z.string().default('127.0.0.1'),
  API_PORT: portSchema.default(3000),
  /** The API serves its metrics on this port of API_HOST; it serves none without. */
  API_METRICS_PORT: portSchema.optional(),
  /** Which requests the API logs: all, those answered with 500 or above, or none. */
  API_REQUEST_LOG: z.enum(['all', 'errors', 'off']).default('errors'),
  /** Origins whose pages may read responses. */
  API_CORS_ORIGINS: corsOriginsSchema.prefault('*'),
  /** Limit per client; null means no limit. */
  API_RATE_LIMIT: rateLimitSchema.prefault('6000/60s'),
  /** Addresses and CIDRs whose X-Forwarded-For is trusted; empty means none. */
  API_TRUST_PROXY: trustProxySchema.prefault('off'),
  INDEXER_HOST: z.string().default('127.0.0.1'),
  INDEXER_PORT: portSchema.default(3001),
  /** Whether the indexer serves a page of its queues, and whether that may change them. */
  QUEUE_PAGE: z.enum(['off', 'read', 'write']).default('off'),
  QUEUE_PAGE_PASSWORD: z.string().min(16).max(1_000).optional(),
  /** The intake listens on this port of API_HOST; it does not run without. */
  INTAKE_PORT: portSchema.optional(),
  /** The intake serves health and metrics on this port of INDEXER_HOST, if it is set. */
  INTAKE_METRICS_PORT: portSchema.optional(),
  /** This file says which changes the webhooks program sends, and to which URLs. */
  WEBHOOKS_FILE: z.string().optional(),
  /** The webhooks program serves health and metrics on this port of INDEXER_HOST, if it is set. */
  WEBHOOKS_PORT: portSchema.optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  DATA_DIR: z.string().default('.data'),
})

export type Environment = z.infer<typeof environmentSchema>

/** Variables with passwords, which may be in files that `<name>_FILE` names. */
const SECRET_VARIABLES = ['DATABASE_URL', 'READ_DATABASE_URL', 'REDIS_URL', 'QUEUE_PAGE_PASSWORD'] as const

/** Parses and checks the environment. An empty variable counts as unset. Throws a one-line ConfigError. */
export function loadEnvironment(source: EnvironmentSource = process.env): Environment {
  const secrets = SECRET_VARIABLES.map((name) => [name, secretOf(source, name)] as const)
  const all = [...Object.entries(source), ...secrets]
  const set = Object.fromEntries(all.filter(([, value]) => value !== '' && value !== undefined))
  const parsed = validate(environmentSchema, set)
  if (!parsed.ok) throw new ConfigError(`${parsed.mistake.path} ${parsed.mistake.message}`)
  const { DATABASE_URL, READ_DATABASE_URL, REDIS_URL, QUEUE_PAGE, QUEUE_PAGE_PASSWORD } = parsed.value
  if (QUEUE_PAGE !== 'off' && QUEUE_PAGE_PASSWORD === undefined)
    throw new ConfigError('QUEUE_PAGE_PASSWORD is not set: give it a password, or set QUEUE_PAGE to off')
  rememberSecrets([QUEUE_PAGE_PASSWORD ?? ''])
  for (const url of [DATABASE_URL, READ_DATABASE_URL, REDIS_URL]) rememberSecrets(passwordInUrl(url ?? ''))
  rememberSecrets(redisPasswords(REDIS_URL ?? ''))
  return parsed.value
}

/** Returns the database URL of {@link loadEnvironment}; throws a ConfigError if it is not set. */
export function requireDatabaseUrl(environment: Environment): string {
  if (environment.DATABASE_URL !== undefined) return environment.DATABASE_URL
  throw new ConfigError(
    'DATABASE_URL is not set: give postgres://user:password@host:port/database, or use `npm start`, which brings its own Postgres',
  )
}

export interface RolePasswords {
  indexer?: string | undefined
  api?: string | undefined
  producer?: string | undefined
  intake?: string | undefined
}

/** The passwords with which `ops roles` creates the programs' database roles; an empty one counts as unset. */
export function loadRolePasswords(source: EnvironmentSource = process.env): RolePasswords {
  return {
    indexer: secretOf(source, 'INDEXER_PASSWORD'),
    api: secretOf(source, 'API_PASSWORD'),
    producer: secretOf(source, 'PRODUCER_PASSWORD'),
    intake: secretOf(source, 'INTAKE_PASSWORD'),
  }
}

/** Reads the networks file, fills in `${NAME}` from the environment and checks it. Throws a one-line ConfigError. */
export function loadNetworks(path: string | undefined, source: EnvironmentSource = process.env): Networks {
  if (path === undefined) {
    throw new ConfigError('NETWORKS_FILE is not set: name the JSON file that lists the networks to index')
  }
  const networks = parseNetworks(readJson(`NETWORKS_FILE ${path}`, path), path, source)
  for (const { rpcUrls, wsUrl } of networks.evm)
    rememberSecrets([...rpcUrls, wsUrl ?? ''].flatMap(tokensInUrl))
  for (const { rpcUrls, token } of networks.filecoin)
    rememberSecrets([token ?? '', ...rpcUrls.flatMap(tokensInUrl)])
  return networks
}

export function parseNetworks(json: unknown, path: string, source: EnvironmentSource): Networks {
  return parseFile(networksSchema, json, `NETWORKS_FILE ${path}`, source)
}

/** Reads the webhooks file, as {@link loadNetworks} does its own. */
export function loadWebhooks(path: string | undefined, source: EnvironmentSource = process.env): Webhook[] {
  if (path === undefined) {
    throw new ConfigError('WEBHOOKS_FILE is not set: name the JSON file that lists the webhooks')
  }
  const { webhooks } = parseWebhooks(readJson(`WEBHOOKS_FILE ${path}`, path), path, source)
  for (const { url, secret } of webhooks) rememberSecrets([secret, ...tokensInUrl(url)])
  return webhooks
}

export function parseWebhooks(
  json: unknown,
  path: string,
  source: EnvironmentSource,
): { webhooks: Webhook[] } {
  return parseFile(webhooksSchema, json, `WEBHOOKS_FILE ${path}`, source)
}

/** `file` is the variable and the path, for messages. */
function parseFile<T extends z.ZodType>(
  schema: T,
  json: unknown,
  file: string,
  source: EnvironmentSource,
): z.output<T> {
  const parsed = validate(schema, fillIn(json, file, source))
  if (parsed.ok) return parsed.value
  const { path: at, message } = parsed.mistake
  throw new ConfigError(`${file}: ${at === '' ? '' : `${at}: `}${message}`)
}

function readJson(file: string, path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${file} cannot be read: ${messageOf(error)}`)
  }
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new ConfigError(`${file} is not JSON${placeOf(error, text)}`)
  }
}

/** Line and column where the parser stopped. Its own message quotes the file, which may contain tokens. */
function placeOf(error: unknown, text: string): string {
  const position = /position (\d+)/.exec(messageOf(error))?.[1]
  if (position === undefined) return ''
  const lines = text.slice(0, Number(position)).split('\n')
  return `: see line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
}

/** The schema nests five deep. */
const MAX_DEPTH = 32

/** Replaces `${NAME}` in every string. A name that is not set is an error, because an empty token fails much later. */
function fillIn(value: unknown, file: string, source: EnvironmentSource, at: string[] = []): unknown {
  if (at.length > MAX_DEPTH) throw new ConfigError(`${file}: more than ${MAX_DEPTH} levels deep`)
  if (typeof value === 'string') {
    // A misspelt reference would be used as the token itself.
    if (value.replaceAll(/\$\{\w+\}/g, '').includes('${')) {
      throw new ConfigError(
        `${file}: ${at.join('.')}: a variable's name in \${…} has letters, digits and _ only`,
      )
    }
    return value.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
      const filled = secretOf(source, name)
      if (filled === undefined) {
        throw new ConfigError(`${file}: \${${name}} is used there, but ${name} is not set`)
      }
      return filled
    })
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => fillIn(item, file, source, [...at, `${index}`]))
  }
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        fillIn(item, file, source, [...at, PLAIN_KEY.test(key) ? key : '…']),
      ]),
    )
  }
  return value
}
