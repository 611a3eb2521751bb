import t from 'tap'
import { buildApp } from '../../../api/app.ts'
import { createApiMetrics } from '../../../api/plugins/metrics.ts'
import { openReadDatabase } from '../../../api/queries/read-database.ts'
import { createLogger } from '../../../shared/log.ts'
import { testDatabase } from '../../helpers/database.ts'

void t.test('refusals are counted by their reason', async (t) => {
  const { url } = await testDatabase(t)
  const database = openReadDatabase(url, { onError: () => undefined })
  const metrics = createApiMetrics(database)
  const app = await buildApp({
    ...{ database, metrics, log: createLogger('test', 'silent'), version: '0' },
    settings: {
      API_CORS_ORIGINS: '*',
      API_RATE_LIMIT: { requests: 2, windowMs: 60_000 },
      API_TRUST_PROXY: [],
    },
  })
  t.teardown(async () => {
    await app.close()
    await database.close()
  })
  for (const status of [200, 200, 429])
    t.equal((await app.inject('/api/activity/history')).statusCode, status)
  t.equal((await app.inject('/api/nothing/at-all')).statusCode, 429)
  // The response closes a moment after it was sent.
  await new Promise((resolve) => setImmediate(resolve))
  const text = await metrics.registry.metrics()
  t.match(text, 'loan_activity_api_rate_limited_total 2\n')
  t.match(text, 'loan_activity_api_shed_total 0\n')
  t.match(text, 'loan_activity_api_request_duration_seconds_count{route="unknown",status="429"} 1\n')
  t.match(text, 'loan_activity_api_requests_in_flight 0\n')
})

void t.test('a client that leaves in mid-answer is no request in flight', async (t) => {
  const { url } = await testDatabase(t)
  const database = openReadDatabase(url, { onError: () => undefined })
  const metrics = createApiMetrics(database)
  const app = await buildApp({ database, metrics, log: createLogger('test', 'silent'), version: '0' })
  t.teardown(async () => {
    await app.close()
    await database.close()
  })
  const stop = new AbortController()
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const stream = await fetch(`${address}/api/activity/stream`, { signal: stop.signal })
  t.equal(stream.status, 200)
  const inFlight = (await metrics.registry.metrics()).match(/api_requests_in_flight (\d+)/)?.[1]
  t.equal(inFlight, '1')
  stop.abort()
  await t.rejects(stream.text())
  while (!(await metrics.registry.metrics()).includes('loan_activity_api_requests_in_flight 0\n'))
    await new Promise((resolve) => setImmediate(resolve))
})

void t.test('a database that is away leaves one figure', async (t) => {
  const database = openReadDatabase('postgres://a:b@127.0.0.1:1/nothing', { onError: () => undefined })
  t.teardown(() => database.close())
  const text = await createApiMetrics(database).registry.metrics()
  t.match(text, 'loan_activity_postgres_up 0\n')
  t.notMatch(text, /^loan_activity_records/m)
  t.match(text, /^process_resident_memory_bytes [1-9]/m)
})
