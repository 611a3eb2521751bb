import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { newWebhookHealth, type Outcome, type WebhookHealth } from '../../indexer/webhooks/health.ts'
import { runWebhook, type Pace } from '../../indexer/webhooks/run-webhook.ts'
import type { Db } from '../../shared/db/connect.ts'
import { createLogger } from '../../shared/log.ts'
import { startApi } from '../helpers/api-process.ts'
import { testDatabase, type TestDatabase } from '../helpers/database.ts'
import { freePort } from '../helpers/free-port.ts'
import { deadLetters } from '../helpers/handed-in.ts'
import { ingestStories } from '../helpers/ingest-ledger.ts'
import { eventually } from '../helpers/programs.ts'
import { queueKinds, type QueueKind } from '../helpers/queue-kinds.ts'
import { testRedis } from '../helpers/redis.ts'
import { tellStories } from '../helpers/two-chain-stories.ts'
import { idsOf, SECRET, webhookReceiver } from '../helpers/webhook-receiver.ts'

t.setTimeout(600_000)

const PACE: Pace = { attempts: 5, backoffMs: 20, queuedAgainMs: 3_600_000 }

interface Ground extends TestDatabase {
  redisUrl: string | undefined
}

async function ground(t: Test, kind: QueueKind): Promise<Ground | undefined> {
  const database = await testDatabase(t)
  const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
  if (redisUrl === null) return undefined
  await ingestStories(database.db, tellStories(1, 1))
  return { ...database, redisUrl }
}

/** Runs one webhook, and notes the outcomes of its attempts. */
function run(
  t: Test,
  { db, url: databaseUrl, redisUrl }: Ground,
  url: string,
): { health: WebhookHealth; outcomes: Outcome[]; stop: () => Promise<void> } {
  const backend = openQueueBackend({ redisUrl, databaseUrl }, () => undefined)
  const stopping = new AbortController()
  const outcomes: Outcome[] = []
  const health = { ...newWebhookHealth('one'), onOutcome: (outcome: Outcome) => void outcomes.push(outcome) }
  const webhook = { name: 'one', url, secret: SECRET, from: 'beginning' as const }
  const log = createLogger('test', 'silent')
  const running = runWebhook({ webhook, db, backend, log, signal: stopping.signal, pace: PACE, health })
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
    backend.close()
  }
  t.teardown(stop)
  return { health, outcomes, stop }
}

async function outboxSize(db: Db): Promise<number> {
  return (await db.selectFrom('ledger.webhook_outbox').select('id').execute()).length
}

for (const kind of queueKinds) {
  void t.test(`on ${kind}: a receiver that asks for a pause gets nothing before its end`, async (t) => {
    const given = await ground(t, kind)
    if (given === undefined) return
    const asked: number[] = []
    const times: number[] = []
    const receiver = await webhookReceiver(t, () => {
      times.push(performance.now())
      // Four are on their way at once: each of these is refused, and all others wait.
      if (times.length > 4) return 204
      asked.push(performance.now())
      return { status: times.length % 2 === 0 ? 429 : 503, retryAfter: '2' }
    })
    const { outcomes } = run(t, given, receiver.url)
    await eventually('all came', async () => times.length > 4 && (await outboxSize(given.db)) === 0)
    const firstMs = Math.min(...asked)
    const early = times.filter((timeMs) => timeMs > Math.max(...asked) && timeMs < firstMs + 2_000)
    t.same(early, [], 'nothing came in these seconds')
    t.equal(outcomes.filter((outcome) => outcome === 'failed').length, 4)
    t.equal(outcomes.filter((outcome) => outcome === 'delivered').length, idsOf(receiver.received).length)
    t.same(await deadLetters(given.db), [])
  })

  void t.test(
    `on ${kind}: a receiver that is gone gets nothing more until the program starts again`,
    async (t) => {
      const given = await ground(t, kind)
      if (given === undefined) return
      const { db } = given
      const state = { isGone: true }
      const receiver = await webhookReceiver(t, () => (state.isGone ? 410 : 204))
      const first = run(t, given, receiver.url)
      await eventually('it is disabled', () => first.health.isDisabled)
      state.isGone = false
      const before = receiver.received.length
      t.ok(before >= 1 && before <= 4, `${before} were on their way`)
      const waiting = await outboxSize(db)
      t.ok(waiting >= before, 'none is lost')
      t.same(await deadLetters(db), [], 'nor given up')
      await first.stop()
      t.equal(receiver.received.length, before)
      const second = run(t, given, receiver.url)
      await eventually(
        'all came',
        async () => receiver.received.length > before && (await outboxSize(db)) === 0,
      )
      t.notOk(second.health.isDisabled)
    },
  )

  void t.test(`on ${kind}: a deadline that passed while the receiver was away is not sent`, async (t) => {
    const given = await ground(t, kind)
    if (given === undefined) return
    const { db } = given
    const due = (id: string, time: Date): object => ({
      ...{ webhook: 'one', id, position: 1 },
      body: JSON.stringify({ type: 'action.due', data: { notAfter: { time }, position: 1 } }),
    })
    const nowMs = Date.now()
    for (const message of [
      due('due-passed', new Date(nowMs - 1)),
      due('due-later', new Date(nowMs + 3_600_000)),
    ])
      await db
        .insertInto('ledger.webhook_outbox')
        .values(message as never)
        .execute()
    const receiver = await webhookReceiver(t)
    const { outcomes } = run(t, given, receiver.url)
    await eventually('all came', async () => receiver.received.length > 1 && (await outboxSize(db)) === 0)
    const ids = idsOf(receiver.received)
    t.ok(ids.includes('due-later'))
    t.notOk(ids.includes('due-passed'))
    t.same(
      outcomes.filter((outcome) => outcome !== 'delivered'),
      ['expired'],
    )
    t.same(await deadLetters(db), [])
  })

  void t.test(`on ${kind}: a running program tells its health and its metrics`, async (t) => {
    const given = await ground(t, kind)
    if (given === undefined) return
    const [good, gone] = [await webhookReceiver(t), await webhookReceiver(t, () => 410)]
    const file = join(t.testdir({}), 'webhooks.json')
    const common = { secret: SECRET, from: 'beginning' }
    const webhooks = [
      { name: 'good', url: good.url, ...common },
      { name: 'gone', url: gone.url, ...common },
    ]
    await writeFile(file, JSON.stringify({ webhooks }))
    const port = await freePort()
    const { child, said, ended } = startApi(
      t,
      {
        ...{ DATABASE_URL: given.url, WEBHOOKS_FILE: file, WEBHOOKS_PORT: String(port) },
        ...(given.redisUrl !== undefined && { REDIS_URL: given.redisUrl }),
      },
      { program: 'indexer/webhooks/main' },
    )
    await said('"started"')
    await said('the receiver answered 410 Gone')
    const read = async (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    const sample = async (line: string): Promise<number> => {
      const metrics = await (await read('/metrics')).text()
      const found = metrics.split('\n').find((one) => one.startsWith(`loan_activity_webhook_${line} `))
      return Number(found?.split(' ').at(-1) ?? NaN)
    }
    await eventually('all came', async () => (await sample('messages_waiting{webhook="good"}')) === 0)
    const ids = idsOf(good.received)
    t.equal(await sample('deliveries_total{webhook="good",outcome="delivered"}'), ids.length)
    t.ok((await sample('deliveries_total{webhook="gone",outcome="failed"}')) >= 1)
    t.equal(await sample('deliveries_total{webhook="good",outcome="expired"}'), 0, 'counted from the start')
    t.equal(await sample('disabled{webhook="gone"}'), 1)
    t.equal(await sample('disabled{webhook="good"}'), 0)
    t.ok((await sample('oldest_age_seconds{webhook="gone"}')) > 0)
    t.same(await sample('oldest_age_seconds{webhook="good"}'), NaN, 'nothing waits')
    t.equal(await sample('dead_letters{webhook="gone"}'), 0)
    t.equal((await read('/healthz')).status, 200)
    const ready = await read('/readyz')
    t.equal(ready.status, 200)
    t.match(await ready.json(), {
      status: 'OK',
      payload: {
        problem: null,
        webhooks: [
          { webhook: 'good', state: 'sending' },
          { webhook: 'gone', state: 'disabled' },
        ],
      },
    })
    child.kill('SIGTERM')
    t.equal((await ended).code, 0)
  })
}
