import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  createAnswerCache,
  READ_MODEL_STATE,
  type AnswerCache,
  type Found,
} from '../../../api/queries/answer-cache.ts'
import { openReadDatabase } from '../../../api/queries/read-database.ts'
import { testApi } from '../../helpers/api.ts'
import { testDatabase, type TestDatabase } from '../../helpers/database.ts'
import { seedRecords } from '../../helpers/seed-projection.ts'

interface Asked extends TestDatabase {
  cache: AnswerCache
  /** The number of records, by the cache and, where it does not keep it, from the database. */
  records: () => Promise<number>
  /** How often the database was asked for it. */
  asks: () => number
}

async function asked(t: Test, mostBytes?: number): Promise<Asked> {
  const own = await testDatabase(t)
  const database = openReadDatabase(own.url, { onError: () => undefined })
  t.teardown(() => database.close())
  const cache = createAnswerCache(database, mostBytes)
  let asks = 0
  const text = `select records::text as answer, ${READ_MODEL_STATE} from projection.fold_state`
  const ask = async (): Promise<Found | undefined> => {
    asks += 1
    return (await database.rows<Found>({ name: 'records', text }))[0]
  }
  return {
    ...{ ...own, cache, asks: () => asks },
    records: async () => Number((await cache.answer('records', ask))?.body.toString()),
  }
}

void t.test('an answer is kept until the read model changes', async (t) => {
  const { db, records, asks } = await asked(t)
  t.equal(await records(), 0)
  t.same(await Promise.all([records(), records(), records()]), [0, 0, 0])
  t.equal(asks(), 1, 'asked once')
  await sql`update projection.fold_state set version = gen_random_uuid(), records = 7`.execute(db)
  t.same(await Promise.all([records(), records()]), [7, 7])
  t.equal(asks(), 2, 'and once more')
})

void t.test('no answer is older than its request, however many ask while it changes', async (t) => {
  const { db, records, asks } = await asked(t)
  let committed = 0
  let isOver = false
  const writing = (async () => {
    for (let count = 1; count <= 400; count += 1) {
      await sql`update projection.fold_state set version = gen_random_uuid(), records = ${count}`.execute(db)
      committed = count
      // Now and then it stands still for a while, and answers are kept.
      if (count % 20 === 0) await sleep(5)
    }
    isOver = true
  })()
  let requests = 0
  const reader = async (): Promise<void> => {
    while (!isOver) {
      const atLeast = committed
      const found = await records()
      requests += 1
      if (found < atLeast) t.fail(`${found} was answered when ${atLeast} had been written`)
      await sleep(requests % 3)
    }
  }
  await Promise.all([writing, ...Array.from({ length: 12 }, reader)])
  t.equal(await records(), 400)
  t.ok(asks() < requests, `${requests} requests, ${asks()} of them asked the database`)
})

void t.test('a look-up that was under way when a request came is not enough for it', async (t) => {
  const { db, url } = await testDatabase(t)
  const database = openReadDatabase(url, { onError: () => undefined })
  t.teardown(() => database.close())
  let answered: Promise<void> = Promise.resolve()
  const slow: Pick<typeof database, 'rows' | 'onLoss'> = {
    onLoss: database.onLoss,
    rows: async (...asked) => {
      const found = await database.rows<never>(...asked)
      await answered
      return found
    },
  }
  const cache = createAnswerCache(slow)
  const text = `select records::text as answer, ${READ_MODEL_STATE} from projection.fold_state`
  const records = async (): Promise<string | undefined> =>
    (
      await cache.answer('records', async () => (await database.rows<Found>({ name: 'records', text }))[0])
    )?.body.toString()
  t.equal(await records(), '0')
  let arrive = (): void => undefined
  answered = new Promise((resolve) => (arrive = resolve))
  const early = records()
  await sleep(100)
  await sql`update projection.fold_state set version = gen_random_uuid(), records = 5`.execute(db)
  const late = records()
  await sleep(100)
  arrive()
  t.match(await early, /^[05]$/)
  t.equal(await late, '5', 'it came after the change')
})

void t.test('what is not kept costs its own statement, and what is kept the look-up', async (t) => {
  const { url, db } = await testDatabase(t)
  const database = openReadDatabase(url, { onError: () => undefined })
  t.teardown(() => database.close())
  const statements: string[] = []
  const underWay: Promise<unknown>[] = []
  const counting: Pick<typeof database, 'rows' | 'onLoss'> = {
    onLoss: database.onLoss,
    rows: <Row extends object>(...asked: Parameters<typeof database.rows>) => {
      statements.push(asked[0].name)
      const rows = database.rows<Row>(...asked)
      underWay.push(rows)
      return rows
    },
  }
  const untilQuiet = async (): Promise<void> => {
    do {
      await Promise.all(underWay.splice(0))
      await sleep(5)
    } while (underWay.length > 0)
  }
  const text = `select records::text as answer, ${READ_MODEL_STATE} from projection.fold_state`
  const said = async (cache: AnswerCache, question: string): Promise<string[]> => {
    await cache.answer(question, async () => (await counting.rows<Found>({ name: question, text }))[0])
    await untilQuiet()
    return statements.splice(0)
  }
  const cache = createAnswerCache(counting)
  t.same(await said(cache, 'one'), ['one', 'read-model-version'], 'of an unknown version')
  t.same(await said(cache, 'two'), ['two'])
  t.same(await said(cache, 'one'), ['read-model-version'])
  await sql`update projection.fold_state set version = gen_random_uuid(), records = 1`.execute(db)
  t.same(await said(cache, 'one'), ['read-model-version', 'one'])
  t.same(await said(cache, 'three'), ['three'])
  t.same(await said(cache, 'three'), ['read-model-version'])
  const none = createAnswerCache(counting, 0)
  for (let time = 0; time < 3; time += 1) t.same(await said(none, 'one'), ['one'])
})

void t.test('what there is no room for, what is missing and what failed is asked for again', async (t) => {
  const { db, records, asks, cache } = await asked(t, 600)
  t.same([await records(), await records()], [0, 0])
  t.equal(asks(), 1)
  let others = 0
  const other = (answer: string | undefined) => async (): Promise<Found | undefined> => {
    others += 1
    const { rows } = await sql<{ version: string }>`select ${sql.raw(READ_MODEL_STATE)}`.execute(db)
    return answer === undefined ? undefined : { answer, version: rows[0]?.version ?? '', indexed: null }
  }
  for (let time = 0; time < 2; time += 1) {
    t.equal((await cache.answer('too much', other('x'.repeat(200))))?.body.length, 200)
    t.equal(await cache.answer('missing', other(undefined)), undefined)
    await t.rejects(
      cache.answer('failed', async () => {
        await other(undefined)()
        throw new Error('no answer')
      }),
      /no answer/,
    )
  }
  t.equal(others, 6)
  t.equal(await records(), 0)
  t.equal(asks(), 1, 'what was kept still is')
})

void t.test('what is kept of an earlier version makes room', async (t) => {
  const { db, cache, records, asks } = await asked(t, 600)
  await records()
  t.equal(await records(), 0)
  t.equal(asks(), 1)
  await sql`update projection.fold_state set version = gen_random_uuid(), records = 1`.execute(db)
  let others = 0
  const other = async (): Promise<Found | undefined> => {
    others += 1
    const { rows } = await sql<{ version: string }>`select ${sql.raw(READ_MODEL_STATE)}`.execute(db)
    return { answer: 'other', version: rows[0]?.version ?? '', indexed: null }
  }
  for (let time = 0; time < 5; time += 1) {
    await cache.answer('other', other)
    // The look-up that makes room is after the first answer.
    await sleep(time === 0 ? 200 : 0)
  }
  t.equal(others, 1, 'it is kept where there was no room before')
})

void t.test('an answer that is under way when something is written is not for who comes later', async (t) => {
  const { db, cache, records, asks } = await asked(t)
  await records()
  let arrive = (): void => undefined
  const held = new Promise<void>((resolve) => (arrive = resolve))
  const question = (name: string, until: Promise<void>) =>
    cache.answer(name, async () => {
      const { rows } = await sql<Found>`
        select records::text as answer, ${sql.raw(READ_MODEL_STATE)} from projection.fold_state`.execute(db)
      await until
      return rows[0]
    })
  const early = question('held', held)
  await sleep(50)
  await sql`update projection.fold_state set version = gen_random_uuid(), records = 9`.execute(db)
  const late = question('held', Promise.resolve())
  t.equal((await late)?.body.toString(), '9')
  arrive()
  t.equal((await early)?.body.toString(), '0')
  t.equal((await question('held', Promise.resolve()))?.body.toString(), '9', 'nor is it kept')
  t.equal(await records(), 9)
  t.equal(asks(), 2)
})

void t.test('what a replica says that is behind is answered, and not kept', async (t) => {
  const { cache, records } = await asked(t)
  await records()
  let asks = 0
  const behind = (): Promise<Found> => {
    asks += 1
    return Promise.resolve({ answer: `old ${asks}`, version: 'of before', indexed: null })
  }
  t.equal((await cache.answer('question', behind))?.body.toString(), 'old 1')
  t.equal((await cache.answer('question', behind))?.body.toString(), 'old 2')
  t.equal((await cache.answer('question', behind))?.body.toString(), 'old 3', 'nor once the version is known')
  // Two answers of the same moment, so that the version is known before the next one is kept.
  await Promise.all([records(), records()])
  for (const next of [4, 5, 6])
    t.equal((await cache.answer('question', behind))?.body.toString(), `old ${next}`, 'nor any later')
})

void t.test('a client that has the answer already is told so', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 30)
  for (const url of ['/api/activity/history', '/api/activity/history/2', '/api/activity/history/999']) {
    const { headers, body } = await app.inject(url)
    t.match(
      headers,
      { 'cache-control': 'public, max-age=0, s-maxage=1, must-revalidate', etag: /^W\/"[\w-]{27}"$/ },
      url,
    )
    const etag = String(headers['etag'])
    for (const condition of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const again = await app.inject({ url, headers: { 'if-none-match': condition } })
      t.match(again, { statusCode: 304, body: '', headers: { etag } }, condition)
    }
    for (const condition of ['"other"', etag.slice(3), '']) {
      const again = await app.inject({ url, headers: { 'if-none-match': condition } })
      t.match(again, { statusCode: 200, body }, condition)
    }
    const head = await app.inject({ method: 'HEAD', url })
    t.match(head, { statusCode: 200, body: '', headers: { etag, 'content-length': String(body.length) } })
    const known = await app.inject({ method: 'HEAD', url, headers: { 'if-none-match': etag } })
    t.match(known, { statusCode: 304, body: '', headers: { etag, 'content-length': String(body.length) } })
  }
  const before = await app.inject('/api/activity/history')
  await sql`update projection.record_kinds set event = 'Payback'`.execute(db)
  await sql`update projection.fold_state set version = gen_random_uuid(), folded_position = folded_position + 1`.execute(
    db,
  )
  const after = await app.inject({
    url: '/api/activity/history',
    headers: { 'if-none-match': String(before.headers['etag']) },
  })
  t.equal(after.statusCode, 200)
  t.not(after.headers['etag'], before.headers['etag'])
})
