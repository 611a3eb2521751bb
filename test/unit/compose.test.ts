import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import * as z from 'zod'
import { CLUSTER_TEXT } from '../../devnet/postgres/server.ts'
import { environmentSchema, loadEnvironment } from '../../shared/config/config.ts'

/** No container engine runs where the tests run: so what the files say is checked against what the programs know. */
const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

const stringsSchema = z.record(z.string(), z.string())
const serviceSchema = z.object({
  image: z.string(),
  build: z.strictObject({ context: z.literal('.'), dockerfile: z.literal('deploy/Dockerfile') }).optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  environment: stringsSchema.default({}),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  profiles: z.array(z.string()).default([]),
  restart: z.string().optional(),
  env_file: z.array(z.strictObject({ path: z.string(), required: z.literal(false) })).default([]),
  deploy: z.strictObject({ replicas: z.int() }).optional(),
  user: z.string().optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).default([]),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  mem_limit: z.string().optional(),
  logging: z
    .strictObject({
      driver: z.literal('json-file'),
      options: z.strictObject({ 'max-size': z.string(), 'max-file': z.string() }),
    })
    .optional(),
})
type Service = z.infer<typeof serviceSchema>
const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
  networks: z.strictObject({
    default: z.strictObject({
      ipam: z.strictObject({ config: z.tuple([z.strictObject({ subnet: z.string() })]) }),
    }),
  }),
})
const packageSchema = z.object({ scripts: stringsSchema, dependencies: stringsSchema })

const { scripts: written, dependencies } = packageSchema.parse(JSON.parse(read('package.json')))
/** `exec` makes npm's signals reach the program and not the shell between: without a shell it says nothing. */
const scripts = Object.fromEntries(
  Object.entries(written).map(([name, script]) => [name, script.replace(/^exec /, '')]),
)
const compose = composeSchema.parse(parse(read('docker-compose.yml'), { merge: true }))
const operator = {
  POSTGRES_PASSWORD: 'aB3xY9',
  INDEXER_PASSWORD: 'iNd3x',
  API_PASSWORD: 'aPi4',
  REDIS_INDEXER_PASSWORD: 'rEd1s',
  REDIS_API_PASSWORD: 'l1mIt',
  REDIS_PRODUCER_PASSWORD: 'pRo5',
  NETWORKS_FILE: './networks.json',
}
/** Programs that read chains. */
const CHAIN_READERS = ['indexer', 'ops']

/** Fills in `${NAME:?message}` and `${NAME:-default}` as compose does. */
function interpolate(text: string, given: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, how: string, rest: string) => {
    const value = given[name]
    if (value !== undefined && value !== '') return value
    if (how === '-') return rest
    throw new Error(`${name}: ${rest}`)
  })
}

function service(name: string): Service {
  const found = compose.services[name]
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`)
  return found
}

function environmentOf(name: string): Record<string, string> {
  const entries = Object.entries(service(name).environment)
  return Object.fromEntries(entries.map(([key, value]) => [key, interpolate(value, operator)]))
}

const own = Object.keys(compose.services).filter((name) => service(name).build !== undefined)

void t.test('the services are those that docs/operations.md names', (t) => {
  const names = ['api', 'indexer', 'migrate', 'ops', 'postgres', 'proxy', 'redis', 'roles', 'webhooks']
  t.same(Object.keys(compose.services).sort(), names)
  t.same(own.sort(), ['api', 'indexer', 'migrate', 'ops', 'roles', 'webhooks'])
  t.end()
})

void t.test('what not everybody runs is in a profile', (t) => {
  const profiles: Record<string, string[]> = { ops: ['ops'], webhooks: ['webhooks'] }
  for (const [name, one] of Object.entries(compose.services)) t.same(one.profiles, profiles[name] ?? [], name)
  t.end()
})

void t.test('each service is confined: no capability, no writable image, bounded memory and logs', (t) => {
  for (const [name, one] of Object.entries(compose.services)) {
    t.equal(one.read_only, true, `${name} writes only its volumes`)
    t.same(one.cap_drop, ['ALL'], name)
    t.ok(one.security_opt.includes('no-new-privileges:true'), name)
    t.match(one.mem_limit, /^\d+[mg]$/, name)
    t.same(one.logging?.options, { 'max-size': '10m', 'max-file': '3' }, name)
    t.ok(one.tmpfs.includes('/tmp'), name)
  }
  for (const name of ['indexer', 'api']) t.equal(service(name).deploy?.replicas, 2, name)
  t.end()
})

void t.test('images of others are fixed by their digests', (t) => {
  const foreign = Object.keys(compose.services).filter((name) => !own.includes(name))
  for (const name of foreign) t.match(service(name).image, /^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/, name)
  const bases = [...read('deploy/Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  t.equal(new Set(bases).size, 1, 'the build and the image have one base')
  t.match(bases[0], /^node:22-slim@sha256:[0-9a-f]{64}$/)
  t.end()
})

void t.test('tokens of RPC endpoints reach only the programs that read chains', (t) => {
  for (const [name, { env_file }] of Object.entries(compose.services)) {
    const files = env_file.map(({ path }) => path)
    const own = name === 'webhooks' ? ['webhooks.env'] : []
    t.same(files, CHAIN_READERS.includes(name) ? ['rpc.env'] : own, name)
  }
  t.end()
})

void t.test('each program has the database role and the Redis user that are its own', (t) => {
  const userOf = (name: string): string => new URL(environmentOf(name)['DATABASE_URL'] ?? '').username
  t.equal(userOf('indexer'), 'loan_activity_indexer')
  t.equal(userOf('api'), 'loan_activity_api')
  t.equal(userOf('webhooks'), 'loan_activity_indexer', 'webhooks write what indexers may write')
  for (const name of ['migrate', 'roles', 'ops']) t.equal(userOf(name), 'loan_activity', `${name} owns it`)
  t.match(environmentOf('roles'), { INDEXER_PASSWORD: 'iNd3x', API_PASSWORD: 'aPi4' })
  t.match(service('roles').command?.join(' '), 'dist/indexer/cli/main.js roles')
  t.equal(new URL(environmentOf('indexer')['REDIS_URL'] ?? '').username, 'indexer')
  t.equal(new URL(environmentOf('api')['REDIS_URL'] ?? '').username, 'api')
  t.end()
})

void t.test('the proxy is the one port, trusted by the APIs behind it', (t) => {
  const published = Object.entries(compose.services).filter(([, { ports }]) => ports.length > 0)
  t.same(
    published.map(([name]) => name),
    ['proxy'],
  )
  t.match(interpolate(service('proxy').ports[0] ?? '', operator), /^127\.0\.0\.1:3000:3000$/)
  const file = read('deploy/haproxy.cfg')
  t.match(file, /^ {2}bind :3000$/m)
  for (const path of ['/readyz', '/healthz']) t.match(file, `option httpchk GET ${path}`)
  t.match(file, `api:${environmentOf('api')['API_PORT'] ?? ''} resolvers`)
  const check = spawnSync('haproxy', ['-c', '-f', 'deploy/haproxy.cfg'], { cwd: root })
  if (check.error !== undefined && process.env['CI'] !== 'true')
    t.comment('skipped: haproxy is not installed')
  else t.equal(check.status, 0, 'HAProxy accepts its configuration')
  t.equal(environmentOf('api')['API_TRUST_PROXY'], compose.networks.default.ipam.config[0].subnet)
  t.end()
})

void t.test('each program runs as its npm script does, from compiled JavaScript whose source exists', (t) => {
  for (const name of ['migrate', 'indexer', 'api', 'webhooks']) {
    const command = service(name).command ?? []
    t.equal(command.join(' '), scripts[name], `${name} is \`npm run ${name}\``)
    const compiled = command.find((word) => word.startsWith('dist/')) ?? ''
    t.ok(existsSync(new URL(compiled.replace(/^dist\//, '').replace(/\.js$/, '.ts'), root)), compiled)
  }
  t.equal((service('ops').entrypoint ?? []).join(' '), scripts['ops'])
  t.end()
})

void t.test('every variable is one that the configuration knows, with a value that it takes', (t) => {
  const known = [...Object.keys(environmentSchema.shape), 'INDEXER_PASSWORD', 'API_PASSWORD']
  for (const name of own) {
    const environment = environmentOf(name)
    for (const variable of Object.keys(environment)) t.ok(known.includes(variable), `${name}: ${variable}`)
    t.doesNotThrow(() => loadEnvironment(environment), name)
    t.ok(loadEnvironment(environment).DATABASE_URL, `${name} has a database`)
  }
  t.end()
})

void t.test('hosts, users and databases of the URLs are those of the services', (t) => {
  const url = new URL(environmentOf('migrate')['DATABASE_URL'] ?? '')
  for (const name of own) {
    const { host, pathname } = new URL(environmentOf(name)['DATABASE_URL'] ?? '')
    t.same([host, pathname], [url.host, url.pathname], name)
  }
  const postgres = environmentOf('postgres')
  t.ok(compose.services[url.hostname], 'the database is a service')
  t.equal(url.username, postgres['POSTGRES_USER'])
  t.equal(url.password, postgres['POSTGRES_PASSWORD'])
  t.equal(url.pathname, `/${postgres['POSTGRES_DB'] ?? ''}`)
  t.equal(postgres['POSTGRES_INITDB_ARGS'], CLUSTER_TEXT.join(' '), 'a cluster as the tests have it')
  const redis = new URL(environmentOf('indexer')['REDIS_URL'] ?? '')
  t.ok(compose.services[redis.hostname], 'Redis is a service')
  const networks = environmentOf('indexer')['NETWORKS_FILE'] ?? ''
  for (const name of CHAIN_READERS) {
    const mounts = service(name).volumes.map((volume) => interpolate(volume, operator))
    t.ok(mounts.includes(`./networks.json:${networks}:ro`), `${name} sees the networks file`)
  }
  t.end()
})

void t.test('Redis keeps every job', (t) => {
  const command = (service('redis').command ?? []).join(' ')
  t.match(command, /--maxmemory-policy noeviction/)
  t.match(command, /--appendonly yes/)
  t.end()
})

void t.test('secrets have no default: without them compose stops and names them', (t) => {
  const text = JSON.stringify(compose)
  for (const name of Object.keys(operator)) {
    t.throws(() => interpolate(text, { ...operator, [name]: '' }), { message: new RegExp(name) })
  }
  t.notMatch(text, /PASSWORD":"[^$]/)
  t.end()
})

void t.test('nothing starts before what it needs is there', (t) => {
  t.equal(service('migrate').depends_on['postgres']?.condition, 'service_healthy')
  const complete = 'service_completed_successfully'
  for (const name of ['migrate', 'roles', 'ops']) t.equal(service(name).restart, 'no', name)
  for (const name of ['roles', 'ops']) t.equal(service(name).depends_on['migrate']?.condition, complete, name)
  for (const name of ['indexer', 'api', 'webhooks'])
    t.equal(service(name).depends_on['roles']?.condition, complete, name)
  t.equal(service('indexer').depends_on['redis']?.condition, 'service_healthy')
  t.same(Object.keys(service('api').depends_on), ['roles'], 'the API needs the database alone')
  for (const { depends_on } of Object.values(compose.services)) {
    for (const name of Object.keys(depends_on)) t.ok(compose.services[name], name)
  }
  t.end()
})

void t.test('health is asked where the program listens', (t) => {
  for (const [name, port] of [
    ['api', 'API_PORT'],
    ['indexer', 'INDEXER_PORT'],
    ['webhooks', 'WEBHOOKS_PORT'],
  ] as const) {
    const listens = environmentOf(name)[port] ?? ''
    t.match((service(name).healthcheck.test ?? []).join(' '), `http://127.0.0.1:${listens}/healthz`)
    t.equal(environmentOf(name)[name === 'api' ? 'API_HOST' : 'INDEXER_HOST'], '0.0.0.0')
  }
  t.end()
})

void t.test('named volumes exist', (t) => {
  const used = Object.values(compose.services).flatMap(({ volumes }) =>
    volumes.flatMap((volume) => /^([a-z][a-z-]*):/.exec(volume)?.[1] ?? []),
  )
  t.same(used.sort(), Object.keys(compose.volumes).sort())
  t.end()
})

void t.test('the image: compiled programs only, not root, with a health check', (t) => {
  const dockerfile = read('deploy/Dockerfile')
  const [, last = ''] = dockerfile.split(/^FROM /m).slice(1)
  t.notMatch(last, /node_modules|npm ci/, 'the programs have their packages in them')
  t.match(dockerfile, /^RUN npm run build$/m)
  t.match(last, /^USER node$/m)
  t.match(last, /^HEALTHCHECK /m)
  t.ok(
    last.includes(
      `CMD [${(scripts['api'] ?? '')
        .split(' ')
        .map((word) => JSON.stringify(word))
        .join(', ')}]`,
    ),
  )
  const variables = [...last.matchAll(/^(?:ENV|\s+) *([A-Z][A-Z_]+)=(\S+)/gm)].map(([, name, value]) => [
    name,
    value,
  ])
  const known = [...Object.keys(environmentSchema.shape), 'NODE_ENV']
  for (const [name] of variables) t.ok(known.includes(name ?? ''), `${name ?? ''} is known`)
  t.doesNotThrow(() => loadEnvironment(Object.fromEntries(variables) as Record<string, string>))
  t.notOk(dependencies['tsx'], 'the image has no tsx: the launcher must take dist/')
  t.end()
})

void t.test('what the Dockerfile copies exists and is let through to it', (t) => {
  const allowed = read('.dockerignore')
    .split('\n')
    .flatMap((line) => /^!(.+)/.exec(line)?.[1] ?? [])
  const copies = [...read('deploy/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
  t.ok(copies.length > 5)
  for (const source of copies.flatMap(([, sources]) => (sources ?? '').split(' '))) {
    t.ok(existsSync(new URL(source, root)), source)
    t.ok(
      allowed.some((path) => source === path || source.startsWith(`${path}/`)),
      `${source} is let through`,
    )
  }
  t.end()
})
