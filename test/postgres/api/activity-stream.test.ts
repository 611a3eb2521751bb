import { once } from 'node:events'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { EventSource } from 'undici'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import type { Db } from '../../../shared/db/connect.ts'
import type { ChainStep } from '../../../shared/events/chain-step.ts'
import { startApi } from '../../helpers/api-process.ts'
import { testApi } from '../../helpers/api.ts'
import { cases } from '../../helpers/cases.ts'
import { testDatabase } from '../../helpers/database.ts'
import { openStream, type EventStream, type StreamedEvent } from '../../helpers/event-stream.ts'
import { EVM, FILECOIN, ingestLedger, ingestStories } from '../../helpers/ingest-ledger.ts'
import { ingestInSomeOrder } from '../../helpers/restless-ledger.ts'
import { listeningApi } from '../../helpers/listening-api.ts'
import { recordRows } from '../../helpers/log-views.ts'
import { eventually } from '../../helpers/programs.ts'
import { RandomChain, seededRandom } from '../../helpers/random-chain.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

t.setTimeout(300_000)

const STREAM = '/api/activity/stream'

/** A copy of the history, kept by nothing but a stream's events. */
class Copy {
  readonly records = new Map<number, Record<string, unknown>>()
  readonly told = new Set<string>()

  constructor(private readonly t: Test) {}

  apply({ id, event, data }: StreamedEvent): void {
    if (event === 'finality') return
    const key = Number(data['id'])
    if (this.told.has(id)) this.t.fail(`${event} ${id} came twice`)
    this.told.add(id)
    if (this.records.has(key) === (event === 'record'))
      this.t.fail(`${event} of record ${key} came out of turn`)
    if (event === 'retracted') this.records.delete(key)
    else this.records.set(key, data)
  }

  get rows(): unknown[] {
    return [...this.records.values()].sort((a, b) => Number(a['id']) - Number(b['id'])).map(tenFields)
  }
}

function tenFields({ network: _network, position: _position, ...record }: Record<string, unknown>): unknown {
  return record
}

async function heldRecords(db: Db): Promise<unknown[]> {
  return (await recordRows(db)).map((row) => ({
    id: row.id,
    txHash: row.tx_hash,
    event: row.event,
    loanId: row.loan_id,
    blockchain: row.blockchain,
    networkId: row.network_id,
    contractAddress: row.contract_address,
    loanType: row.loan_type,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }))
}

async function headOf(db: Db): Promise<number> {
  const { last_position } = await db
    .selectFrom('ledger.log_head')
    .select('last_position')
    .executeTakeFirstOrThrow()
  return last_position
}

/** Whether all up to this log position were told. */
const isAt =
  (position: number) =>
  ({ lastId }: EventStream): boolean =>
    Number(lastId.split('.')[0]) >= position && !lastId.includes('.')

/** A writer of one network's steps. */
async function writerOf(db: Db): Promise<(step: ChainStep) => Promise<void>> {
  const identity = { network: 'evm:5', blockchain: 'OTHER' }
  const epoch = await raiseEpoch(db, identity.network, 'writer', { startNumber: 0, watched: {} })
  return async (step) => {
    const outcome = await ingestStep(db, identity, epoch, step)
    if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
  }
}

/** The loans of the stories are others. */
function withOtherLoans<Step extends ChainStep>(step: Step): Step {
  if (!('events' in step)) return step
  const events = step.events.map((event) =>
    'loanId' in event ? { ...event, loanId: `x-${event.loanId}` } : event,
  )
  return { ...step, events }
}

void t.test(
  'a consumer that is killed again and again under reorgs ends with exactly the records',
  async (t) => {
    const { db, origin } = await listeningApi(t)
    const kills = cases(200)
    const random = seededRandom(43)
    const chain = new RandomChain(43)
    const write = await writerOf(db)
    let killed = 0
    const branches = async (): Promise<void> => {
      await write(withOtherLoans(chain.genesis()))
      for (let reorgs = 0; reorgs < 20 || killed < kills; reorgs += 1) {
        await write(withOtherLoans(chain.grow(1 + random.below(4))))
        const depth = 1 + random.below(Math.min(6, chain.blocks.length - 1))
        await write(withOtherLoans(chain.reorg(depth, depth + random.below(3))))
      }
    }
    const stories = tellStories(43, 12, { people: 4, handedIn: 0.5 })
    const writing = Promise.all([branches(), ingestInSomeOrder(db, stories, 43, { unrest: 0.4 })])
    writing.catch(() => undefined)
    const copy = new Copy(t)
    let lastEventId = '0'
    while (killed < kills) {
      const life = await openStream(t, origin, { lastEventId })
      const before = life.lastId
      const enough = 1 + random.below(30)
      await life.until(
        ({ events, lastId }) => events.length >= enough || (lastId !== before && events.length > 0),
      )
      life.kill()
      for (const event of life.events) copy.apply(event)
      lastEventId = life.lastId
      killed += 1
    }
    await writing
    const last = await openStream(t, origin, { lastEventId })
    await last.until(isAt(await headOf(db)))
    for (const event of last.events) copy.apply(event)
    t.same(copy.rows, await heldRecords(db))
    const kinds = new Set(
      copy.told.size > 0 ? (await eventsFrom(t, origin, db, '0')).map(({ event }) => event) : [],
    )
    t.same([...kinds].sort(), ['changed', 'record', 'retracted'], 'all kinds of changes came')
  },
)

/** All events after an id up to the present head, without finality. */
async function eventsFrom(t: Test, origin: string, db: Db, lastEventId: string): Promise<StreamedEvent[]> {
  const stream = await openStream(t, origin, { lastEventId })
  await stream.until(isAt(await headOf(db)))
  stream.kill()
  return stream.events.filter(({ event }) => event !== 'finality')
}

void t.test('from each id exactly the rest follows, also in the middle of an entry', async (t) => {
  const { db, origin } = await listeningApi(t)
  // Channels before their loans: one entry makes many records visible.
  const chains = tellStories(7, 10, { people: 3, handedIn: 1 })
  await ingestInSomeOrder(db, chains, 7, { first: 'filecoin', unrest: 0.3 })
  const all = await eventsFrom(t, origin, db, '0')
  t.ok(
    all.some(({ id }) => id.includes('.')),
    'some entries bring several changes',
  )
  const copy = new Copy(t)
  for (const event of all) copy.apply(event)
  t.same(copy.rows, await heldRecords(db))
  const random = seededRandom(7)
  for (let number = 0; number < cases(100); number += 1) {
    const index = random.below(all.length)
    const rest = await eventsFrom(t, origin, db, all[index]?.id ?? '')
    t.same(rest, all.slice(index + 1), `after ${all[index]?.id ?? ''}`)
  }
  const head = String(await headOf(db))
  t.same(await eventsFrom(t, origin, db, head), [], 'nothing follows the head')
})

void t.test('a filtered stream keeps exactly the records of that search, and its id moves on', async (t) => {
  const { db, app, origin } = await listeningApi(t)
  const stories = tellStories(7, 10, { people: 3, handedIn: 1 })
  await ingestInSomeOrder(db, stories, 7, { first: 'filecoin', unrest: 0.3 })
  const head = await headOf(db)
  const queries = [
    'loanId=3&loanId=4',
    'loanType=ERC20FIL&event=LendERC20/LockCollateral',
    'networkId=31337',
    'loanId=12345',
  ]
  for (const query of queries) {
    const found: Record<string, unknown>[] = []
    for (let before = ''; ;) {
      const page = (await app.inject(`/api/activity?${query}&limit=200${before}`)).json<{
        payload: Record<string, unknown>[]
        next: number | null
      }>()
      found.push(...page.payload)
      if (page.next === null) break
      before = `&before=${page.next}`
    }
    const copy = new Map<unknown, Record<string, unknown>>()
    const stream = await openStream(t, origin, { query: `?lastEventId=0&${query}` })
    await stream.until(isAt(head))
    for (const { event, data } of stream.events) {
      if (event === 'finality') continue
      if (event === 'retracted') copy.delete(data['id'])
      else copy.set(data['id'], data)
    }
    const kept = [...copy.values()].sort((a, b) => Number(b['id']) - Number(a['id']))
    t.strictSame(kept.map(tenFields), found, query)
    t.equal(Number(stream.lastId), head, `${query}: it resumes from the head`)
    stream.kill()
  }
  t.equal((await app.inject(`${STREAM}?networkId=9`)).statusCode, 400)
  t.equal((await app.inject(`${STREAM}?event=Nope`)).statusCode, 400)
  t.equal((await app.inject(`${STREAM}?account=f01`)).statusCode, 400)
})

void t.test('without an id a stream begins now, and a client has an id before its first event', async (t) => {
  const { db, origin } = await listeningApi(t)
  const stories = tellStories(3, 2, { handedIn: 0 })
  await ingestLedger(db, EVM, stories.evm)
  const head = await headOf(db)
  const stream = await openStream(t, origin)
  await stream.until(({ lastId }) => lastId !== '')
  t.equal(stream.lastId, String(head))
  t.match(stream.text(), /^retry: \d+\nid: \d+\n\n/)
  t.match(stream.headers, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'x-accel-buffering': 'no',
  })
  t.equal(stream.headers['content-encoding'], undefined)
  await ingestLedger(db, FILECOIN, stories.filecoin)
  await stream.until(isAt(await headOf(db)))
  t.ok(stream.events.length > 0)
  t.ok(stream.events.every(({ data }) => Number(data['position']) > head))
})

void t.test('finality follows the history that it is true of, also for a client that resumes', async (t) => {
  const { db, origin } = await listeningApi(t)
  const write = await writerOf(db)
  const chain = new RandomChain(5)
  await write(chain.genesis())
  await write(chain.grow(20))
  const [, , , , fifth] = chain.blocks
  const tenth = chain.blocks[10]
  if (fifth === undefined || tenth === undefined) throw new Error('the chain is short')
  await write({ type: 'finalized', block: { number: fifth.number, hash: fifth.hash } })
  const stream = await openStream(t, origin, { lastEventId: '0' })
  const finals = (): StreamedEvent[] => stream.events.filter(({ event }) => event === 'finality')
  await stream.until(() => finals().length === 1)
  const before = await firstIdAbove(db, fifth.number)
  t.match(finals()[0], { data: { network: 'evm:5', networkId: '5', block: fifth.number, hash: fifth.hash } })
  t.equal(finals()[0]?.data['recordsBefore'], before)
  t.equal(finals()[0]?.id, String(await headOf(db)), 'it has no id of its own and comes after the history')
  await write({ type: 'finalized', block: { number: tenth.number, hash: tenth.hash } })
  await stream.until(() => finals().length === 2)
  t.equal(finals()[1]?.data['recordsBefore'], await firstIdAbove(db, tenth.number))
  const resumed = await openStream(t, origin, { lastEventId: stream.lastId })
  await resumed.until(({ events }) => events.length > 0)
  t.match(resumed.events[0], { event: 'finality', data: { block: tenth.number } })
})

/** The id of the first record whose event is in a later block. */
async function firstIdAbove(db: Db, block: number): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select min(coalesce(origin, position)) * 1000000 as id from ledger.event_log where block_number > ${block}`.execute(
    db,
  )
  return rows[0]?.id ?? NaN
}

void t.test('a browser’s EventSource hears of each kind by its name', async (t) => {
  const { db, origin } = await listeningApi(t)
  await ingestStories(db, tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 }))
  const source = new EventSource(`${origin}${STREAM}?lastEventId=0`)
  t.teardown(() => source.close())
  const [event] = (await once(source, 'record')) as [{ data: string; lastEventId: string }]
  t.match(JSON.parse(event.data), { id: 1_000_000, event: 'CreateLoanOffer' })
  t.equal(event.lastEventId, '1')
})

void t.test('ids that are none, and parameters that there are not, are 400; HEAD has no body', async (t) => {
  const { app } = await testApi(t)
  for (const id of ['', 'x', '-1', '1.2.3', '1.', '9'.repeat(30)]) {
    const answer = await app.inject({ url: STREAM, headers: { 'last-event-id': id } })
    t.match(
      [answer.statusCode, answer.json()],
      [400, { status: 'ERROR', message: /^Last-Event-ID must/ }],
      id,
    )
  }
  t.equal((await app.inject(`${STREAM}?lastEventId=x`)).statusCode, 400)
  t.equal((await app.inject(`${STREAM}?from=0`)).statusCode, 400)
  const head = await app.inject({ method: 'HEAD', url: STREAM })
  t.match([head.statusCode, head.headers['content-type'], head.body], [200, 'text/event-stream', ''])
})

void t.test(
  'one stream too many is 429 for a client and 503 for all, and a closed one makes room',
  async (t) => {
    const refusals = {
      429: /too many open streams of this client/,
      503: /as many open streams as it can take/,
    }
    for (const [code, streamLimits] of [
      [429, { most: 10, mostOfClient: 2, mostBehindMs: 10_000 }],
      [503, { most: 2, mostOfClient: 10, mostBehindMs: 10_000 }],
    ] as const) {
      const { app, origin } = await listeningApi(t, { streamLimits })
      const first = await openStream(t, origin)
      await openStream(t, origin)
      const refused = await app.inject(STREAM)
      t.equal(refused.statusCode, code)
      t.match(refused.json(), { status: 'ERROR', message: refusals[code] })
      t.match(refused.headers['retry-after'], /^\d+$/)
      first.kill()
      let status = 0
      while (status !== 200) status = (await openStream(t, origin)).status
    }
  },
)

void t.test('a client that disappears before its stream begins takes no place', async (t) => {
  const { app, db, origin } = await listeningApi(t, {
    streamLimits: { most: 1, mostOfClient: 1, mostBehindMs: 10_000 },
  })
  const openConnections = promisify(app.server.getConnections.bind(app.server))
  await db.transaction().execute(async (trx) => {
    await sql`lock table projection.fold_state, ledger.log_head in access exclusive mode`.execute(trx)
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    socket.write(`GET ${STREAM} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    await eventually('the stream waits for the database', async () => {
      const { rows } = await sql`select 1 from pg_locks where not granted and database = (
        select oid from pg_database where datname = current_database())`.execute(trx)
      return rows.length > 0
    })
    socket.destroy()
    await eventually('the server has closed', async () => (await openConnections()) === 0)
  })
  await eventually('there is room for a stream', async () => {
    return (await app.inject({ method: 'HEAD', url: STREAM })).statusCode === 200
  })
})

void t.test('open streams do not take the places of requests', async (t) => {
  const { origin } = await listeningApi(t)
  // More than run at once.
  const streams = await Promise.all(Array.from({ length: 50 }, () => openStream(t, origin)))
  t.ok(streams.every(({ status }) => status === 200))
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => fetch(`${origin}/api/activity/history`).then(({ status }) => status)),
  )
  t.ok(answers.every((status) => status === 200))
})

void t.test('a reader that takes nothing is cut off, and resumes from its last id', async (t) => {
  const { app, db, origin } = await listeningApi(t, {
    streamLimits: { most: 1, mostOfClient: 1, mostBehindMs: 300 },
  })
  // More than the buffers of both systems take.
  await sql`
    insert into projection.record_kinds values (1, 'Payback', 'ERC20FIL', 'DEVNET', '1', '0x')`.execute(db)
  await sql`
    insert into projection.activity (id, slot, kind, tx_hash, loan_id, created_at, updated_at)
    select n * 1000000, n % 512 + 1, 1, n || repeat('x', 40000), '1', now(), now()
    from generate_series(1, 1000) as n`.execute(db)
  await sql`update projection.fold_state set folded_position = 1000`.execute(db)
  await sql`update ledger.log_head set last_position = 1000`.execute(db)
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  socket.write(`GET ${STREAM}?lastEventId=0 HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await once(socket, 'readable')
  let text = ''
  // The server has closed: what both systems hold can still be read.
  await eventually('there is room for a stream', async () => {
    return (await app.inject({ method: 'HEAD', url: STREAM })).statusCode === 200
  })
  socket.setEncoding('latin1').on('data', (more: string) => (text += more))
  await once(socket, 'close')
  const [lastEventId = ''] = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id).slice(-2)
  t.ok(Number(lastEventId) < 1000, lastEventId)
  const rest = await openStream(t, origin, { lastEventId })
  await rest.until(isAt(1000))
  t.equal(rest.events[0]?.data['position'], Number(lastEventId) + 1)
})

void t.test('an API that stops ends its streams in order', async (t) => {
  const { url } = await testDatabase(t)
  const api = startApi(t, { DATABASE_URL: url, API_PORT: '0' })
  const stream = await openStream(t, await api.listening)
  await stream.until(({ lastId }) => lastId !== '')
  api.child.kill('SIGTERM')
  t.equal(await stream.ended, true)
  t.equal((await api.ended).code, 0)
})
