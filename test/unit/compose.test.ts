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
  build: z.strictObject({ context: z.literal('.'), dockerfile: z.literal('.docker/Dockerfile') }).optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  environment: stringsSchema.default({}),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  profiles: z.array(z.string()).default([]),
  restart: z.string().optional(),
})
type Service = z.infer<typeof serviceSchema>
const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
})
const packageSchema = z.object({ scripts: stringsSchema, dependencies: stringsSchema })

const { scripts: written, dependencies } = packageSchema.parse(JSON.parse(read('package.json')))
/** `exec` makes npm's signals reach the program and not the shell between: without a shell it says nothing. */
const scripts = Object.fromEntries(
  Object.entries(written).map(([name, script]) => [name, script.replace(/^exec /, '')]),
)
const compose = composeSchema.parse(parse(read('docker-compose.yml'), { merge: true }))
const operator = { POSTGRES_PASSWORD: 'aB3xY9', NETWORKS_FILE: './networks.json' }

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

void t.test('the services are those that the README tells of', (t) => {
  t.same(Object.keys(compose.services).sort(), ['api', 'indexer', 'migrate', 'ops', 'postgres', 'redis'])
  t.same(own.sort(), ['api', 'indexer', 'migrate', 'ops'])
  t.end()
})

void t.test('each program runs as its npm script does, from compiled JavaScript whose source exists', (t) => {
  for (const name of ['migrate', 'indexer', 'api']) {
    const command = service(name).command ?? []
    t.equal(command.join(' '), scripts[name], `${name} is \`npm run ${name}\``)
    const compiled = command.find((word) => word.startsWith('dist/')) ?? ''
    t.ok(existsSync(new URL(compiled.replace(/^dist\//, '').replace(/\.js$/, '.ts'), root)), compiled)
  }
  t.equal((service('ops').entrypoint ?? []).join(' '), scripts['ops'])
  t.end()
})

void t.test('every variable is one that the configuration knows, with a value that it takes', (t) => {
  const known = Object.keys(environmentSchema.shape)
  for (const name of own) {
    const environment = environmentOf(name)
    for (const variable of Object.keys(environment)) t.ok(known.includes(variable), `${name}: ${variable}`)
    t.doesNotThrow(() => loadEnvironment(environment), name)
    t.ok(loadEnvironment(environment).DATABASE_URL, `${name} has a database`)
  }
  t.end()
})

void t.test('hosts, users and databases of the URLs are those of the services', (t) => {
  const url = new URL(environmentOf('indexer')['DATABASE_URL'] ?? '')
  const postgres = environmentOf('postgres')
  t.ok(compose.services[url.hostname], 'the database is a service')
  t.equal(url.username, postgres['POSTGRES_USER'])
  t.equal(url.password, postgres['POSTGRES_PASSWORD'])
  t.equal(url.pathname, `/${postgres['POSTGRES_DB'] ?? ''}`)
  t.equal(postgres['POSTGRES_INITDB_ARGS'], CLUSTER_TEXT.join(' '), 'a cluster as the tests have it')
  const redis = new URL(environmentOf('indexer')['REDIS_URL'] ?? '')
  t.ok(compose.services[redis.hostname], 'Redis is a service')
  const networks = environmentOf('indexer')['NETWORKS_FILE'] ?? ''
  for (const name of ['indexer', 'ops']) {
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
  t.equal(service('migrate').restart, 'no')
  for (const name of ['indexer', 'api', 'ops']) {
    t.equal(service(name).depends_on['migrate']?.condition, 'service_completed_successfully', name)
  }
  t.equal(service('indexer').depends_on['redis']?.condition, 'service_healthy')
  t.same(Object.keys(service('api').depends_on), ['migrate'], 'the API needs the database alone')
  for (const { depends_on } of Object.values(compose.services)) {
    for (const name of Object.keys(depends_on)) t.ok(compose.services[name], name)
  }
  t.end()
})

void t.test('health is asked where the program listens', (t) => {
  for (const [name, port] of [
    ['api', 'API_PORT'],
    ['indexer', 'INDEXER_PORT'],
  ] as const) {
    const listens = environmentOf(name)[port] ?? ''
    t.match((service(name).healthcheck.test ?? []).join(' '), `http://127.0.0.1:${listens}/healthz`)
    t.equal(environmentOf(name)[port.replace('PORT', 'HOST')], '0.0.0.0')
  }
  t.match(interpolate(service('api').ports[0] ?? '', operator), /:3000:3000$/)
  t.same(service('indexer').ports, [], 'metrics stay inside')
  t.end()
})

void t.test('named volumes exist', (t) => {
  const used = Object.values(compose.services).flatMap(({ volumes }) =>
    volumes.flatMap((volume) => /^([a-z-]+):/.exec(volume)?.[1] ?? []),
  )
  t.same(used.sort(), Object.keys(compose.volumes).sort())
  t.end()
})

void t.test('the image: compiled programs only, not root, with a health check', (t) => {
  const dockerfile = read('.docker/Dockerfile')
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
  const copies = [...read('.docker/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
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
