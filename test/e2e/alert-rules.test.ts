import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { alertRules, RULES_FILE } from '../helpers/alert-rules.ts'
import { hasPrometheus, promtool } from '../helpers/promtool.ts'

/** Values of a series at each minute, in promtool's notation; null where the series does not exist. */
type Series = Record<string, string | null>

const INDEXERS = ['i1', 'i2']
const at = (name: string, job: string, instance: string, labels = ''): string =>
  `${name}{job="${job}",instance="${instance}"${labels}}`
const onIndexer = (name: string, instance: string, labels = ''): string =>
  at(`loan_activity_${name}`, 'loan-activity', instance, labels)
const onApi = (name: string, labels = ''): string =>
  at(`loan_activity_${name}`, 'loan-activity-api', 'a1', labels)
const onWebhook = (name: string, labels = ''): string =>
  at(`loan_activity_webhook_${name}`, 'loan-activity-webhooks', 'w1', `,webhook="one"${labels}`)
const onIntake = (outcome: string): string =>
  at(
    'loan_activity_intake_requests_total',
    'loan-activity-intake',
    'v1',
    `,kind="voucher",outcome="${outcome}"`,
  )
const NET = ',network="evm:1"'
const flat = (value: number): string => `${value}x60`
const growing = (perMinute: number): string => `0+${perMinute}x60`

/** Two indexers, of which the second stands by, two APIs, one on a replica, a webhook, an intake, and a network at its head. */
function healthy(): Series {
  const series: Series = {
    [at('up', 'loan-activity-api', 'a1')]: flat(1),
    [at('up', 'loan-activity-api', 'a2')]: flat(1),
    [at('up', 'loan-activity-webhooks', 'w1')]: flat(1),
    [onWebhook('disabled')]: flat(0),
    [onWebhook('oldest_age_seconds')]: flat(2),
    [onWebhook('deliveries_total', ',outcome="given_up"')]: flat(0),
    [at('up', 'loan-activity-intake', 'v1')]: flat(1),
    [onIntake('queued')]: growing(60),
    [onIntake('away')]: flat(0),
    [onIntake('shed')]: flat(0),
    [onApi('postgres_up')]: flat(1),
    [onApi('redis_up')]: flat(1),
    [onApi('postgres_replica_lag_seconds')]: flat(0),
    [onApi('api_shed_total')]: flat(0),
    [onApi('api_request_duration_seconds_count', ',route="/docs",status="200"')]: growing(600),
    [onApi('api_request_duration_seconds_count', ',route="/docs",status="500"')]: flat(0),
    'node_filesystem_avail_bytes{job="postgres-node",mountpoint="/"}': flat(50),
    'node_filesystem_size_bytes{job="postgres-node",mountpoint="/"}': flat(100),
  }
  for (const instance of INDEXERS) {
    const leads = Number(instance === 'i1')
    Object.assign(series, {
      [at('up', 'loan-activity', instance)]: flat(1),
      [onIndexer('reading', instance, NET)]: flat(leads),
      [onIndexer('writing', instance, NET)]: flat(leads),
      ...Object.fromEntries(
        ['queue_up', 'postgres_up', 'redis_up'].map((name) => [onIndexer(name, instance), flat(1)]),
      ),
      [onIndexer('postgres_connections', instance)]: flat(20),
      [onIndexer('postgres_connections_limit', instance)]: flat(97),
      [onIndexer('lag_blocks', instance, NET)]: flat(1),
      [onIndexer('missing_blocks', instance, NET)]: flat(0),
      [onIndexer('proven_blocks', instance, `${NET},kind="receipts"`)]: growing(5),
      [onIndexer('proven_blocks', instance, `${NET},kind="one"`)]: flat(1_000),
      [onIndexer('last_write_age_seconds', instance, NET)]: flat(3),
      [onIndexer('restarts_total', instance, NET)]: flat(0),
      [onIndexer('handed_in_refused_total', instance, NET)]: flat(0),
      [onIndexer('queue_failed', instance, NET)]: flat(0),
      [onIndexer('refused_jobs_total', instance, NET)]: flat(0),
    })
    for (const endpoint of ['1', '2']) {
      const labels = `${NET},endpoint="${endpoint}"`
      series[onIndexer('rpc_requests_total', instance, labels)] = growing(100)
      series[onIndexer('rpc_errors_total', instance, `${labels},reason="fault"`)] = growing(1)
      series[onIndexer('rpc_disagreements_total', instance, labels)] = flat(0)
      series[onIndexer('rpc_put_aside', instance, labels)] = flat(0)
    }
  }
  return series
}

const everywhere = (name: string, value: string | null, labels = ''): Series =>
  Object.fromEntries(INDEXERS.map((instance) => [onIndexer(name, instance, labels), value]))
const UNREAD = everywhere('reading', flat(0), NET)
/** `up` is 0 as of the start, or ends when DNS has the program no more. */
const gone = (instance: string, up = flat(0)): Series => ({
  ...Object.fromEntries(
    Object.keys(healthy())
      .filter((name) => name.includes(`"${instance}"`))
      .map((name) => [name, null]),
  ),
  [at('up', instance.startsWith('a') ? 'loan-activity-api' : 'loan-activity', instance)]: up,
})
const VANISHED = '1x10 stale'

/** How each alert comes about; the series that differ from a healthy service's. */
const CASES: Record<string, Series> = {
  LoanActivityIndexerDown: gone('i2'),
  LoanActivityNoIndexer: { ...gone('i1'), ...gone('i2') },
  LoanActivityApiDown: gone('a1'),
  LoanActivityNoApi: { ...gone('a1'), ...gone('a2') },
  LoanActivityNoReader: everywhere('reading', null, NET),
  LoanActivityNoWriter: everywhere('writing', null, NET),
  // As the programs report it: the roles have a problem as well, and a queue in Postgres is away.
  LoanActivityPostgresDown: {
    ...everywhere('postgres_up', flat(0)),
    ...everywhere('queue_up', flat(0)),
    ...UNREAD,
    [onApi('postgres_up')]: flat(0),
  },
  LoanActivityQueueDown: {
    ...everywhere('queue_up', flat(0)),
    ...UNREAD,
    [onApi('redis_up')]: flat(0),
    [onIntake('away')]: growing(60),
  },
  LoanActivityRedisDown: { [onApi('redis_up')]: flat(0) },
  LoanActivityConnections: everywhere('postgres_connections', flat(80)),
  LoanActivityDisk: { 'node_filesystem_avail_bytes{job="postgres-node",mountpoint="/"}': flat(9) },
  LoanActivityReplicaLag: { [onApi('postgres_replica_lag_seconds')]: flat(40) },
  LoanActivityNotFollowed: {
    ...UNREAD,
    ...everywhere('rpc_errors_total', growing(90), `${NET},endpoint="1",reason="fault"`),
  },
  LoanActivityStandsStill: {
    ...everywhere('lag_blocks', growing(10), NET),
    ...everywhere('last_write_age_seconds', growing(60), NET),
  },
  LoanActivityBehind: everywhere('lag_blocks', flat(500), NET),
  LoanActivityRestarts: { [onIndexer('restarts_total', 'i1', NET)]: growing(2) },
  LoanActivityEndpointFails: {
    ...everywhere('rpc_errors_total', growing(90), `${NET},endpoint="2",reason="fault"`),
    ...everywhere('rpc_put_aside', flat(1), `${NET},endpoint="2"`),
  },
  LoanActivityEndpointPutAside: {
    ...everywhere('rpc_requests_total', flat(3), `${NET},endpoint="2"`),
    ...everywhere('rpc_errors_total', flat(0), `${NET},endpoint="2",reason="fault"`),
    [onIndexer('rpc_put_aside', 'i1', `${NET},endpoint="2"`)]: '0x10 1x30',
  },
  LoanActivityEndpointDisagrees: {
    [onIndexer('rpc_disagreements_total', 'i1', `${NET},endpoint="2"`)]: growing(1),
  },
  LoanActivityDeadLetters: { [onIndexer('handed_in_refused_total', 'i1', NET)]: growing(2) },
  LoanActivityFailedSteps: {
    ...everywhere('queue_failed', flat(1), NET),
    ...everywhere('writing', flat(0), NET),
  },
  LoanActivityNoIntake: { [at('up', 'loan-activity-intake', 'v1')]: flat(0) },
  LoanActivityIntakeRefuses: { [onIntake('away')]: growing(3) },
  LoanActivityForeignJobs: { [onIndexer('refused_jobs_total', 'i1', NET)]: growing(1) },
  LoanActivityMissingBlocks: everywhere('missing_blocks', flat(3), NET),
  LoanActivityUnproven: everywhere('proven_blocks', growing(5), `${NET},kind="one"`),
  LoanActivityLoansDiffer: everywhere('loans_differing', flat(2), NET),
  LoanActivityApiSheds: { [onApi('api_shed_total')]: growing(60) },
  LoanActivityApiErrors: {
    [onApi('api_request_duration_seconds_count', ',route="/docs",status="500"')]: growing(1),
  },
  LoanActivityNoWebhooks: { [at('up', 'loan-activity-webhooks', 'w1')]: flat(0) },
  LoanActivityWebhookDisabled: {
    [onWebhook('disabled')]: flat(1),
    [onWebhook('oldest_age_seconds')]: growing(600),
  },
  LoanActivityWebhookLate: { [onWebhook('oldest_age_seconds')]: growing(600) },
  LoanActivityWebhookGivenUp: { [onWebhook('deliveries_total', ',outcome="given_up"')]: '0x25 1x30' },
}

/** Further ways in which an alert comes about; without an alert, what must fire none. */
const MORE: [alert: string | null, what: string, Series][] = [
  ['LoanActivityIndexerDown', 'DNS has one indexer less', gone('i2', VANISHED)],
  ['LoanActivityNoIndexer', 'DNS has no indexer', { ...gone('i1', VANISHED), ...gone('i2', VANISHED) }],
  ['LoanActivityApiDown', 'DNS has one API less', gone('a1', VANISHED)],
  ['LoanActivityNoApi', 'DNS has no API', { ...gone('a1', VANISHED), ...gone('a2', VANISHED) }],
  ['LoanActivityNoWebhooks', 'DNS has no webhooks', { [at('up', 'loan-activity-webhooks', 'w1')]: VANISHED }],
  [null, 'webhooks that nobody runs', { [at('up', 'loan-activity-webhooks', 'w1')]: null }],
  [
    null,
    'a third API was there for some minutes',
    { [at('up', 'loan-activity-api', 'a3')]: '_x20 1x1 stale' },
  ],
  [
    'LoanActivityApiErrors',
    'a series begins at its first failure',
    { [onApi('api_request_duration_seconds_count', ',route="/",status="500"')]: '_x27 1x30' },
  ],
  [
    null,
    'a failure of long ago',
    { [onApi('api_request_duration_seconds_count', ',route="/",status="500"')]: '_x10 1x50' },
  ],
  [
    null,
    'an indexer that reads no more knows of an endpoint that was aside',
    { [onIndexer('rpc_put_aside', 'i2', `${NET},endpoint="2"`)]: flat(1) },
  ],
]

function testOf(name: string, changes: Series, alerts: string[]): object {
  const series = Object.entries({ ...healthy(), ...changes })
  return {
    name,
    interval: '1m',
    input_series: series.flatMap(([series, values]) => (values === null ? [] : [{ series, values }])),
    promql_expr_test: [
      {
        expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: '30m',
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      },
    ],
  }
}

void t.test('each way of being unwell fires its alert and no other', async (t) => {
  if (!hasPrometheus(t)) return
  t.same(
    Object.keys(CASES).sort(),
    alertRules()
      .map(({ alert }) => alert)
      .sort(),
  )
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-alerts-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const cases = Object.entries(CASES).map(([alert, changes]) => testOf(alert, changes, [alert]))
  const file = join(folder, 'alerts.yml')
  await writeFile(
    file,
    JSON.stringify({
      rule_files: [RULES_FILE],
      evaluation_interval: '1m',
      tests: [
        testOf('healthy', {}, []),
        ...cases,
        ...MORE.map(([alert, what, changes]) => testOf(what, changes, alert === null ? [] : [alert])),
      ],
    }),
  )
  const { code, output } = await promtool(['test', 'rules', file])
  t.equal(code, 0, output)
  t.match(await promtool(['check', 'rules', RULES_FILE]), { code: 0 })
})
