import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { countDeadLetters, putDeadLetter } from '../../indexer/ingest/dead-letters.store.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { webhookQueueName, type Webhook } from '../../shared/config/webhooks.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { RecordEvent } from '../../shared/events/record-event.ts'
import { createLogger } from '../../shared/log.ts'
import { getRecordEvents } from '../../indexer/webhooks/outbox.store.ts'
import { runWebhook, type Pace } from '../../indexer/webhooks/run-webhook.ts'
import { startApi, type ApiProcess } from '../helpers/api-process.ts'
import { cases } from '../helpers/cases.ts'
import { testDatabase, type TestDatabase } from '../helpers/database.ts'
import { freePort } from '../helpers/free-port.ts'
import { deadLetters } from '../helpers/handed-in.ts'
import { EVM, FILECOIN, ingestLedger, ingestStories } from '../helpers/ingest-ledger.ts'
import { eventually } from '../helpers/programs.ts'
import { queueKinds, type QueueKind } from '../helpers/queue-kinds.ts'
import { testRedis } from '../helpers/redis.ts'
import { ingestInSomeOrder } from '../helpers/restless-ledger.ts'
import { runOps } from '../helpers/run-ops.ts'
import { tcpSwitch } from '../helpers/tcp-switch.ts'
import { tellStories } from '../helpers/two-chain-stories.ts'
import { idsOf, SECRET, webhookReceiver } from '../helpers/webhook-receiver.ts'

t.setTimeout(600_000)

const HOUR_MS = 3_600_000
const FAST: Pace = { attempts: 2, backoffMs: 50, queuedAgainMs: HOUR_MS }

interface Ground extends TestDatabase {
  redisUrl: string | undefined
}

async function ground(t: Test, kind: QueueKind): Promise<Ground | undefined> {
  const database = await testDatabase(t)
  const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
  return redisUrl === null ? undefined : { ...database, redisUrl }
}

/** Runs one webhook until the test ends. */
function run(
  t: Test,
  { db, url: databaseUrl, redisUrl }: Ground,
  given: Partial<Webhook> & { url: string; name: string },
  pace: Pace = FAST,
): void {
  const backend = openQueueBackend({ redisUrl, databaseUrl }, () => undefined)
  const stopping = new AbortController()
  const webhook: Webhook = { secret: SECRET, from: 'beginning', ...given }
  const log = createLogger('test', 'silent')
  const running = runWebhook({ webhook, db, backend, log, signal: stopping.signal, pace })
  t.teardown(async () => {
    stopping.abort()
    await running
    backend.close()
  })
}

async function allEvents(db: Db): Promise<RecordEvent[]> {
  const all: RecordEvent[] = []
  for (let after = { position: 0, skip: 0 }; ;) {
    const { events, next } = await getRecordEvents(db, after)
    all.push(...events)
    if (next.position === after.position && next.skip === after.skip) return all
    after = next
  }
}

/** The ids of their messages. */
function messageIds(events: readonly RecordEvent[]): string[] {
  return idsOf(events.map(({ id }) => ({ id: id.replace('.', '-') })))
}

async function outboxSize(db: Db): Promise<number> {
  return (await db.selectFrom('ledger.webhook_outbox').select('id').execute()).length
}

async function loseJobs({ db, redisUrl }: Ground): Promise<void> {
  if (redisUrl === undefined) {
    await sql`delete from queue.job`.execute(db)
    return
  }
  const redis = new Redis(redisUrl)
  await redis.flushdb()
  redis.disconnect()
}

for (const kind of queueKinds) {
  void t.test(
    `on ${kind}: a receiver gets each change that fits its filters, from where it begins`,
    async (t) => {
      const given = await ground(t, kind)
      if (given === undefined) return
      const { db } = given
      const stories = tellStories(7, 10, { people: 3, handedIn: 1 })
      await ingestInSomeOrder(db, stories, 7, { first: 'filecoin', unrest: 0.3 })
      const before = await allEvents(db)
      const [all, some, late] = [await webhookReceiver(t), await webhookReceiver(t), await webhookReceiver(t)]
      run(t, given, { name: 'all', url: all.url })
      run(t, given, {
        ...{ name: 'some', url: some.url, loanTypes: ['ERC20FIL'], networks: [FILECOIN.network] },
        events: ['LendERC20/LockCollateral', 'LendERC20/SignCollateralVoucher'],
      })
      run(t, given, { name: 'late', url: late.url, from: 'now' })
      await eventually('all came', () => idsOf(all.received).length === before.length)
      await eventually('the late one has a place', async () => {
        const names = await db.selectFrom('ledger.webhook_cursors').select('name').execute()
        return names.length === 3
      })
      const wanted = before.filter(
        ({ record: { loanType, network, event } }) =>
          loanType === 'ERC20FIL' &&
          network === FILECOIN.network &&
          ['LendERC20/LockCollateral', 'LendERC20/SignCollateralVoucher'].includes(String(event)),
      )
      t.ok(wanted.length > 0 && wanted.length < before.length, `${wanted.length} fit`)
      await eventually('some came', () => idsOf(some.received).length === wanted.length)
      t.same(idsOf(some.received), messageIds(wanted))
      t.same(idsOf(all.received), messageIds(before))
      t.equal(late.received.length, 0, 'a webhook that begins now gets nothing of before')

      const types = { record: 'record.made', changed: 'record.changed', retracted: 'record.retracted' }
      t.same(new Set(before.map(({ event }) => event)).size, 3, 'the history has changes of each type')
      const events = new Map(before.map((event) => [event.id.replace('.', '-'), event]))
      for (const { id, body } of all.received) {
        const event = events.get(id)
        t.same(body.data, { ...event?.record, position: event?.position })
        t.equal(body.type, types[event?.event ?? 'record'])
        t.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      }

      await sql`update ledger.webhook_cursors set position = 0 where name = 'late'`.execute(db)
      await eventually('it went on from its place', () => idsOf(late.received).length === before.length)
      await eventually('nothing is left', async () => (await outboxSize(db)) === 0)
    },
  )

  void t.test(
    `on ${kind}: a bad receiver hurts itself only, and what it refused can be sent again`,
    async (t) => {
      const given = await ground(t, kind)
      if (given === undefined) return
      const { db, url: databaseUrl, redisUrl } = given
      await ingestStories(db, tellStories(1, 1))
      const ids = messageIds(await allEvents(db))
      const refusing = { isOver: false }
      const good = await webhookReceiver(t)
      const failing = await webhookReceiver(t, () => (refusing.isOver ? 204 : 500))
      const redirecting = await webhookReceiver(t, () => 307)
      const recovering = await webhookReceiver(t, (_, before) => (before === 0 ? 503 : 200))
      const endless = await webhookReceiver(t, () => 'endless')
      for (const [name, { url }] of Object.entries({ failing, redirecting, recovering, endless, good }))
        run(t, given, { name, url })
      run(t, given, { name: 'unreachable', url: 'http://127.0.0.1:1/' })
      const letters = async (name: string): Promise<{ reason: string; payload: unknown }[]> =>
        (await deadLetters(db)).filter(({ queue }) => queue === webhookQueueName(name))
      await eventually('the good one got all', () => idsOf(good.received).length === ids.length)
      await eventually('the outbox is empty', async () => (await outboxSize(db)) === 0)

      t.same(idsOf(endless.received), ids, 'an answer without end counts by its status')
      await eventually('it is not read on', async () => (await endless.connections()) === 0)
      t.equal(recovering.received.length, 2 * ids.length, 'a message is sent again after an error')
      for (const id of ids) {
        const texts = recovering.received.filter((one) => one.id === id).map(({ text }) => text)
        t.equal(new Set(texts).size, 1, 'with the same id and text')
      }
      t.equal(failing.received.length, 2 * ids.length, 'two attempts each')
      t.equal(redirecting.received.length, 2 * ids.length, 'no redirect is followed')
      for (const [name, reason] of [
        ['failing', /answered 500/],
        ['redirecting', /answered 307/],
        ['unreachable', /./],
      ] as const) {
        const kept = await letters(name)
        t.equal(kept.length, ids.length, name)
        t.match(kept[0], { reason, payload: { webhook: name, body: { type: 'record.made' } } })
      }
      for (const name of ['good', 'recovering', 'endless']) t.same(await letters(name), [], name)

      const ops = (...args: string[]): ReturnType<typeof runOps> =>
        runOps(
          t,
          { databaseUrl, networks: {}, env: redisUrl === undefined ? {} : { REDIS_URL: redisUrl } },
          ...args,
        )
      const listed = await ops('dead-letters', 'list', '--queue', webhookQueueName('failing'), '--json')
      const { deadLetters: list } = JSON.parse(listed.out) as { deadLetters: { id: number }[] }
      t.equal(list.length, ids.length)
      refusing.isOver = true
      const sentBefore = failing.received.length
      const retried = await ops('dead-letters', 'retry', ...list.map(({ id }) => `${id}`))
      t.match(retried, { code: 0, out: `${ids.length} handed in again, 0 left as they are\n` }, retried.err)
      await eventually('they came', () => failing.received.length === sentBefore + ids.length)
      t.same(idsOf(failing.received.slice(sentBefore)), ids)
      await eventually('nothing is left of them', async () => (await outboxSize(db)) === 0)
      t.same(await letters('failing'), [])
      t.equal((await letters('redirecting')).length, ids.length, 'others stay')
    },
  )

  void t.test(
    `on ${kind}: a queue that lost its jobs, or has those of strangers, changes nothing`,
    async (t) => {
      const given = await ground(t, kind)
      if (given === undefined) return
      const { db, url: databaseUrl, redisUrl } = given
      await ingestStories(db, tellStories(1, 1))
      const ids = messageIds(await allEvents(db))
      const state = { isReady: false }
      const receiver = await webhookReceiver(t, () => (state.isReady ? 200 : 503))
      const pace = { attempts: 5, backoffMs: 60_000, queuedAgainMs: 200 }
      run(t, given, { name: 'one', url: receiver.url }, pace)
      await eventually('each was tried', () => idsOf(receiver.received).length === ids.length)
      state.isReady = true
      await loseJobs(given)
      await eventually('all came', async () => (await outboxSize(db)) === 0)
      t.equal(receiver.received.length, 2 * ids.length, 'the lost jobs were made again')

      const backend = openQueueBackend({ redisUrl, databaseUrl }, () => undefined)
      const queue = backend.openQueue(webhookQueueName('one'))
      for (const data of [{ id: ids[0] }, { id: '1-1' }, { id: 7 }, 'x', null, { id: 'x'.repeat(5_000) }])
        await queue.add('message', data, { removeOnComplete: true, removeOnFail: true })
      await eventually('they are gone', async () => {
        const counts = await queue.getJobCounts('waiting', 'active', 'delayed')
        return Object.values(counts).every((count) => count === 0)
      })
      await queue.close()
      backend.close()
      t.equal(receiver.received.length, 2 * ids.length, 'a stranger’s job sends nothing')
    },
  )

  void t.test(`on ${kind}: a program that is killed again and again loses no message`, async (t) => {
    const given = await ground(t, kind)
    if (given === undefined) return
    const { db, url: databaseUrl, redisUrl } = given
    const state = { isHanging: false }
    const receiver = await webhookReceiver(t, () => (state.isHanging ? 'nothing' : 200))
    const file = join(t.testdir({}), 'webhooks.json')
    const webhook = { name: 'one', url: receiver.url, secret: '${HOOK_SECRET}', from: 'beginning' }
    await writeFile(file, JSON.stringify({ webhooks: [webhook] }))
    const env = {
      ...{ DATABASE_URL: databaseUrl, WEBHOOKS_FILE: file, HOOK_SECRET: SECRET },
      ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    }
    const start = async (): Promise<ApiProcess> => {
      const program = startApi(t, env, { program: 'indexer/webhooks/main' })
      await program.said('"started"')
      return program
    }
    await ingestLedger(db, EVM, tellStories(2, 60).evm)
    const events = await allEvents(db)
    const ids = messageIds(events)
    for (let kill = 0, all = cases(40); kill < all; kill += 1) {
      const program = await start()
      const wanted = Math.floor((ids.length * (kill + 1)) / (all + 1))
      await eventually('some came', () => idsOf(receiver.received).length >= wanted, 60_000)
      program.child.kill('SIGKILL')
      await program.ended
    }
    const last = await start()
    await eventually('all came', async () => (await outboxSize(db)) === 0, 120_000)
    t.same(idsOf(receiver.received), ids)
    const texts = new Map<string, Set<string>>()
    for (const { id, text } of receiver.received)
      texts.set(id, (texts.get(id) ?? new Set<string>()).add(text))
    t.ok(
      [...texts.values()].every(({ size }) => size === 1),
      'a double says the same',
    )
    t.same(await deadLetters(db), [])

    state.isHanging = true
    const before = receiver.received.length
    await sql`update ledger.webhook_cursors set position = 0, skip = 0`.execute(db)
    await eventually('it waits for an answer', () => receiver.received.length > before)
    last.child.kill('SIGTERM')
    t.equal((await last.ended).code, 0, 'it stops although the receiver does not answer')
    t.notMatch((await last.ended).stdout, SECRET)
  })
}

void t.test('it stops while Redis is away, and sends once it is back', async (t) => {
  if (!queueKinds.includes('redis')) return
  const given = await ground(t, 'redis')
  if (given?.redisUrl === undefined) return
  const { db, url: databaseUrl, redisUrl } = given
  const redis = new URL(redisUrl)
  const way = await tcpSwitch(t, Number(redis.port))
  const receiver = await webhookReceiver(t)
  const file = join(t.testdir({}), 'webhooks.json')
  const webhook = { name: 'one', url: receiver.url, secret: SECRET, from: 'beginning' }
  await writeFile(file, JSON.stringify({ webhooks: [webhook] }))
  const env = { DATABASE_URL: databaseUrl, WEBHOOKS_FILE: file }
  const start = async (port: number): Promise<ApiProcess> => {
    const REDIS_URL = `redis://127.0.0.1:${port}${redis.pathname}`
    const program = startApi(t, { ...env, REDIS_URL }, { program: 'indexer/webhooks/main' })
    await program.said('"started"')
    return program
  }
  const first = await start(way.port)
  way.leadTo(await freePort())
  way.reset()
  await ingestStories(db, tellStories(1, 1))
  await eventually('a message waits', async () => (await outboxSize(db)) > 0)
  first.child.kill('SIGTERM')
  await eventually('it stops', () => first.child.exitCode !== null)
  t.equal(first.child.exitCode, 0)
  await start(Number(redis.port))
  const ids = messageIds(await allEvents(db))
  await eventually('all came', () => idsOf(receiver.received).length === ids.length)
})

void t.test('dead letters of a webhook push out its own alone', async (t) => {
  const { db } = await testDatabase(t)
  const put = (queue: string, count: number): Promise<unknown> =>
    sql`insert into ledger.dead_letters (queue, digest, payload, payload_bytes, is_cut, reason)
      select ${queue}, n::text, '{}', 2, false, 'r' from generate_series(1, ${count}::integer) n`.execute(db)
  await put('vouchers', 9_999)
  await put(webhookQueueName('other'), 1_000)
  await put(webhookQueueName('one'), 1_000)
  for (const queue of [webhookQueueName('one'), 'vouchers', 'vouchers'])
    for (const payload of [1, 2])
      await putDeadLetter(db, { ...{ queue, payload }, jobId: null, network: null, reason: '' })
  t.same(await countDeadLetters(db), [
    { queue: 'vouchers', count: 10_000 },
    { queue: webhookQueueName('one'), count: 1_000 },
    { queue: webhookQueueName('other'), count: 1_000 },
  ])
})

void t.test('a mistake in the configuration is one line', async (t) => {
  const { url } = await testDatabase(t)
  const program = startApi(t, { DATABASE_URL: url }, { program: 'indexer/webhooks/main' })
  t.match(await program.ended, { code: 2, stderr: /^webhooks: WEBHOOKS_FILE is not set: .*\n$/ })
})
