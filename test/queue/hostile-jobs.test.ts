import { randomUUID } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startLotus } from '../../devnet/filecoin/lotus.ts'
import { stepQueueName } from '../../indexer/queue/step-queue.ts'
import { connect } from '../../shared/db/connect.ts'
import { VOUCHER_QUEUE } from '../../shared/events/handed-in.ts'
import { postgresTenant, redisTenant, type CoTenant } from '../helpers/co-tenant.ts'
import { testDatabase } from '../helpers/database.ts'
import { deadLetters } from '../helpers/handed-in.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { memoryOf } from '../helpers/process-memory.ts'
import { eventually } from '../helpers/programs.ts'
import { testRedis } from '../helpers/redis.ts'
import { scriptFlags } from '../helpers/script-flags.ts'
import { signedText } from '../helpers/signed-vouchers.ts'

t.setTimeout(400_000)

const MIB = 1024 * 1024
const QUEUES = [VOUCHER_QUEUE, stepQueueName('filecoin:testnet')]
/** The issue names ten; each takes the queue's server as long as the indexer. */
const LARGE = Number(process.env['LARGE_JOBS'] ?? 10)

/** Texts in place of a job's data that no limit of the heap would bear, or that are no JSON. */
function hostileTexts(): string[] {
  const bomb = deflateRawSync(Buffer.alloc(210 * MIB, '[')).toString('base64')
  return [
    ...Array.from({ length: LARGE }, (_, n) => `[${'{},'.repeat((8 * MIB) / 3)}${n}]`),
    JSON.stringify({ voucher: 'A'.repeat(50 * MIB) }),
    '['.repeat(100_000) + ']'.repeat(100_000),
    JSON.stringify({ writerEpoch: 1, sequence: 1, step: bomb }),
    JSON.stringify({
      ...{ v: 1, network: 'filecoin:testnet', writerEpoch: 1, sequence: 1 },
      payload: bomb,
      mac: 'A'.repeat(43),
    }),
    JSON.stringify({ v: 'x'.repeat(7 * MIB) }),
    JSON.stringify({ statement: { message: '['.repeat(16_000), signature: '00'.repeat(65) } }),
  ]
}

/** Whatever Redis would hold: its producers are not limited to JSON. */
const NOT_JSON = ['', '{"broken', 'null', '\0', '{}'.repeat(1000)]

async function startIndexer(t: Test, kind: 'redis' | 'postgres') {
  const { url: databaseUrl, db } = await testDatabase(t)
  const redisUrl = kind === 'redis' ? await testRedis(t) : null
  if (kind === 'redis' && redisUrl === null) return undefined
  const lotus = await startLotus({ tickMs: 200, epochDurationS: 2, settleDelayEpochs: 5, seed: 'hostile' })
  t.teardown(() => lotus.stop())
  const networks = { filecoin: [{ networkId: 'testnet', rpcUrls: [lotus.url], pollIntervalMs: 50 }] }
  const flags = scriptFlags('indexer').filter((flag) => flag.startsWith('--max-old-space-size'))
  const indexer = await indexerProcess(t, { databaseUrl, redisUrl, networks, flags })
  indexer.start()
  await eventually('it follows', async () => {
    const ready = await fetch(`${indexer.url}/readyz`).catch(() => undefined)
    return ready?.status === 200
  })
  return { databaseUrl, db, redisUrl, indexer }
}

void t.test('on redis, no job ends the process, and each is a dead letter', async (t) => {
  const running = await startIndexer(t, 'redis')
  if (running === undefined) return
  const { db, redisUrl, indexer } = running
  if (redisUrl === null) return
  const redis = new Redis(redisUrl)
  t.teardown(() => redis.disconnect())
  let sent = 0
  for (const queueName of QUEUES) {
    const tenant = redisTenant(t, redisUrl, queueName)
    for (const text of [...hostileTexts(), ...NOT_JSON]) {
      const id = await putRaw(tenant, redis, queueName, { data: text })
      sent += id === undefined ? 0 : 1
    }
    // Everything else of a job that is parsed, or kept while it is at work.
    const large = `[${'{},'.repeat((8 * MIB) / 3)}0]`
    for (const fields of [
      ...['opts', 'parent', 'stacktrace', 'returnvalue', 'progress', 'rjk', 'name'].map((field) => ({
        [field]: large,
      })),
      { opts: 'null' },
      { opts: 'no JSON' },
      { stacktrace: 'no JSON' },
      { parent: '7' },
    ]) {
      await putRaw(tenant, redis, queueName, { ...fields, data: '{"voucher":"x"}' })
      sent += 1
    }
    await tenant.add({ voucher: 'a large id' }, { jobId: 'i'.repeat(MIB) })
    sent += 1
  }
  await checkLives(t, running, sent)
  t.equal(await indexer.stop(), 0)
  const kept = await sql<{ bytes: number }>`
    select sum(octet_length(payload::text))::integer as bytes from ledger.dead_letters`.execute(db)
  t.ok((kept.rows[0]?.bytes ?? Infinity) < MIB, `${kept.rows[0]?.bytes} bytes are kept of them`)
})

/** A job whose hash is changed before it is taken: no queue of BullMQ's own would write such a one. */
async function putRaw(
  tenant: CoTenant,
  redis: Redis,
  queueName: string,
  fields: Record<string, string>,
): Promise<string | undefined> {
  const id = randomUUID()
  await tenant.queue.add('raw', {}, { jobId: id, delay: 3_600_000 })
  const prefix = `loan-activity:${queueName}`
  await redis.hset(`${prefix}:${id}`, fields)
  await redis.zrem(`${prefix}:delayed`, id)
  await redis.lpush(`${prefix}:wait`, id)
  await redis.zadd(`${prefix}:marker`, 0, '0')
  return id
}

void t.test(
  'on postgres, the server takes no job that is too large, and no other ends the process',
  async (t) => {
    const running = await startIndexer(t, 'postgres')
    if (running === undefined) return
    const { db, databaseUrl, indexer } = running
    let sent = 0
    for (const queueName of QUEUES) {
      const tenant = await postgresTenant(t, db, databaseUrl, queueName)
      const own = connect(tenant.databaseUrl ?? '', { name: 'loan-activity test tenant', max: 1 })
      t.teardown(() => own.destroy())
      for (const text of hostileTexts()) {
        const id = randomUUID()
        await tenant.queue.add('raw', {}, { jobId: id, delay: 3_600_000 })
        const put =
          sql`update queue.job set data = ${text}::jsonb, state = 'waiting' where id = ${id}`.execute(own)
        const taken = await put.then(
          () => true,
          (error: unknown) => {
            t.match(String(error), /bounded_job|stack depth|too deep|jsonb/, text.slice(0, 20))
            return false
          },
        )
        if (taken) sent += 1
      }
      await t.rejects(tenant.add({}, { jobId: 'i'.repeat(MIB) }), /bounded_job|index row/)
      await t.rejects(tenant.queue.add('n'.repeat(MIB), {}, { jobId: 'name' }), /bounded_job/)
      // Postgres compresses it: the check is of what a worker would read.
      const compressed = sql`insert into queue.job (queue, id, seq, name, state, data, added_at_ms)
      select ${queueName}, 'compressed', 1, 'x', 'waiting', to_jsonb(repeat('a', ${60 * MIB})), 0`.execute(
        own,
      )
      await t.rejects(compressed, /bounded_job/)
      await tenant.add({ voucher: 'the last' }, { jobId: 'last' })
      sent += 1
    }
    t.ok(sent > QUEUES.length, 'some were taken')
    await checkLives(t, running, sent)
    t.equal(await indexer.stop(), 0)
  },
)

type Running = NonNullable<Awaited<ReturnType<typeof startIndexer>>>

async function checkLives(
  t: Test,
  { db, indexer, redisUrl, databaseUrl }: Running,
  sent: number,
): Promise<void> {
  const letters = async (): Promise<number> =>
    (await deadLetters(db)).reduce((sum, { attempts }) => sum + attempts, 0)
  await eventually('all are dead letters', async () => (await letters()) >= sent, 120_000)
  t.equal(await letters(), sent)
  t.ok((await deadLetters(db)).every(({ reason }) => reason.length > 5))
  const { peakMiB } = memoryOf(indexer.pid)
  t.ok(peakMiB < 400, `${peakMiB} MiB at most`)
  t.equal((await fetch(`${indexer.url}/readyz`)).status, 200, indexer.output)
  // A true voucher is judged as before; its channel is not on this chain yet.
  const tenant =
    redisUrl === null
      ? await postgresTenant(t, db, databaseUrl, VOUCHER_QUEUE)
      : redisTenant(t, redisUrl, VOUCHER_QUEUE)
  await tenant.add({ network: 'testnet', voucher: signedText() }, { jobId: 'true' })
  await eventually('the true one waits for its channel', async () => {
    const { length } = await db.selectFrom('ledger.waiting_vouchers').select('id').execute()
    return length === 1
  })
}
