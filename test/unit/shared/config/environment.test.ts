import t from 'tap'
import { loadEnvironment, requireDatabaseUrl } from '../../../../shared/config/config.ts'
import { mistake } from '../../../helpers/config-mistake.ts'

void t.test('nothing set: the defaults', (t) => {
  t.strictSame(loadEnvironment({}), {
    API_HOST: '127.0.0.1',
    API_PORT: 3000,
    API_CORS_ORIGINS: '*',
    API_RATE_LIMIT: { requests: 6000, windowMs: 60_000 },
    API_REQUEST_LOG: 'errors',
    API_TRUST_PROXY: [],
    INDEXER_HOST: '127.0.0.1',
    INDEXER_PORT: 3001,
    INDEXER_ROLE: 'all',
    QUEUE_PAGE: 'off',
    LOG_LEVEL: 'info',
    DATA_DIR: '.data',
  })
  t.match(loadEnvironment({ API_PORT: '', REDIS_URL: '' }), { API_PORT: 3000 }, 'empty is unset')
  t.end()
})

void t.test('every variable that is malformed is named, in one line, without its secret', (t) => {
  const secret = 'hunter2'
  for (const [name, values] of Object.entries({
    DATABASE_URL: [
      ...['localhost', 'postgres:/x', 'postgres:x', `mysql://u:${secret}@h/db`, `https://${secret}@h`],
      `postgres://u:${secret}@h/db?sslmode=verify-full&sslrootcert=/none/such%0Afile`,
    ],
    READ_DATABASE_URL: ['localhost', `redis://:${secret}@h`],
    REDIS_URL: ['localhost:6379', 'redis:/x', `http://${secret}@h`, `postgres://u:${secret}@h/db`],
    API_PORT: ['http', '-1', '65536', '80.5', '0x50', ' 80', '99999999999999999999'],
    INDEXER_PORT: ['x', '70000'],
    INDEXER_ROLE: ['both', 'Reader', 'reader,writer'],
    LOG_LEVEL: ['loud', 'INFO'],
    QUEUE_PAGE: ['on', 'true'],
    QUEUE_PAGE_PASSWORD: ['too short'],
    API_CORS_ORIGINS: [
      ...['dapp.example', 'https://dapp.example/', 'https://a.example,', '*,https://a.example', 'null'],
      ...['https://*.example', `https://u:${secret}@h`, 'ftp://h', 'https://A.example'],
    ],
    API_RATE_LIMIT: [
      '6000',
      '0/60s',
      '10/0s',
      '-1/60s',
      '1e3/60s',
      '10/60',
      '10/1d',
      ' 10/60s',
      'OFF',
      '1/60 s',
    ],
    API_TRUST_PROXY: [
      ...['on', 'true', '1', 'loopback', 'proxy.example', '10.0.0.0/33', '::1/129', '10.0.0/8', '10.0.0.1/'],
      ...['10.0.0.1,', '0.0.0.0/0', '10.0.0.1/08', '10.0.0.1/8/9'],
    ],
  })) {
    for (const value of values) {
      const message = mistake(() => loadEnvironment({ [name]: value }))
      t.ok(message.startsWith(`${name} `), `${name}=${value}: ${message}`)
      t.notMatch(message, '\n')
      t.notMatch(message, secret)
    }
  }
  t.end()
})

void t.test('the page of the queues needs a password', (t) => {
  t.match(
    mistake(() => loadEnvironment({ QUEUE_PAGE: 'read' })),
    'QUEUE_PAGE_PASSWORD is not set: give it a password, or set QUEUE_PAGE to off',
  )
  const folder = t.testdir({ password: 'sixteen letters.\n' })
  const given = { QUEUE_PAGE: 'write', QUEUE_PAGE_PASSWORD_FILE: `${folder}/password` }
  t.match(loadEnvironment(given), { QUEUE_PAGE: 'write', QUEUE_PAGE_PASSWORD: 'sixteen letters.' })
  t.end()
})

void t.test('limits of the API are parsed', (t) => {
  t.match(
    loadEnvironment({
      API_CORS_ORIGINS: 'https://dapp.example, http://localhost:5173',
      API_RATE_LIMIT: '10/5m',
      API_TRUST_PROXY: '10.0.0.0/8, ::1,192.0.2.7,fd00::/8',
    }),
    {
      API_CORS_ORIGINS: ['https://dapp.example', 'http://localhost:5173'],
      API_RATE_LIMIT: { requests: 10, windowMs: 300_000 },
      API_TRUST_PROXY: ['10.0.0.0/8', '::1', '192.0.2.7', 'fd00::/8'],
    },
  )
  t.match(loadEnvironment({ API_RATE_LIMIT: 'off', API_TRUST_PROXY: 'off', API_CORS_ORIGINS: '*' }), {
    API_CORS_ORIGINS: '*',
    API_RATE_LIMIT: null,
    API_TRUST_PROXY: [],
  })
  t.end()
})

void t.test('what is right is taken as it is', (t) => {
  const given = {
    DATABASE_URL: 'postgresql://u:p@h:5433/db?sslmode=verify-full&sslrootcert=package.json&sslcert=',
    READ_DATABASE_URL: 'postgres://h/db',
    REDIS_URL: 'rediss://:p@h:6380/2',
    NETWORKS_FILE: 'networks.json',
    API_HOST: '0.0.0.0',
    LOG_LEVEL: 'silent',
  }
  t.match(loadEnvironment({ ...given, API_PORT: '0', INDEXER_PORT: '65535', HOME: '/somewhere' }), {
    ...given,
    API_PORT: 0,
    INDEXER_PORT: 65535,
  })
  t.equal(requireDatabaseUrl(loadEnvironment(given)), given.DATABASE_URL)
  t.match(
    mistake(() => requireDatabaseUrl(loadEnvironment({}))),
    /^DATABASE_URL is not set: give postgres:/,
  )
  t.end()
})
