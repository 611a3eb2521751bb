import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { deflateRawSync } from 'node:zlib'
import { createPostgresBackend, Queue, withBackend } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createRandom, type Random } from '../../devnet/evm/random.ts'
import { stepQueueName } from '../../indexer/queue/step-queue.ts'
import type { Stage } from './stage.ts'
import { add, type Toll } from './tally.ts'

/**
 * Attacks by outsiders who can write to the queue, connect to the database or reach the API. None may change an answer.
 */

const NETWORKS = ['evm:31337', 'filecoin:testnet']
/** Differs from the readers' address because the rate limit counts each client. */
const ATTACKER = '127.0.0.2'
const FORGED_LOAN = '424242'
const GARBAGE_JOBS = 500
const PIPELINED = 64 * 1024
const SOCKETS = 50
/** A queue that is away accepts nothing, so an attacker gives up after this. */
const GIVES_UP_MS = 5_000

type Attack = (stage: Stage, random: Random) => Promise<void>

const ATTACKS: Record<string, Attack> = {
  'forged steps': (stage, random) => onQueue(stage, stepQueueName(random.pick(NETWORKS)), addForgedSteps),
  'a job that inflates to 100 MB': (stage, random) =>
    onQueue(stage, stepQueueName(random.pick(NETWORKS)), (queue) => queue.add('blocks', inflating())),
  'a job of a million objects': (stage, random) =>
    onQueue(stage, random.pick(['vouchers', ...NETWORKS.map(stepQueueName)]), (queue) =>
      queue.add(
        'voucher',
        Array.from({ length: 1_000_000 }, () => ({})),
      ),
    ),
  'garbage vouchers': (stage) =>
    onQueue(stage, 'vouchers', (queue) =>
      queue.addBulk(
        Array.from({ length: GARBAGE_JOBS }, (_, n) => ({
          name: 'voucher',
          data: { voucher: `garbage ${n}` },
        })),
      ),
    ),
  'advisory locks': holdAdvisoryLocks,
  'pipelining clients': pipeline,
}

/** Runs one attack after the other until the signal. */
export async function bringAttacks(stage: Stage, signal: AbortSignal, toll: Toll): Promise<void> {
  const random = createRandom(`${stage.seed}/attacks`)
  const names = Object.keys(ATTACKS)
  for (;;) {
    await sleep(random.int(500, 4_000), undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const name = random.pick(names)
    // The attacked part may be away for other reasons.
    await ATTACKS[name]?.(stage, random).catch(() => undefined)
    add(toll.mishaps, `attack: ${name}`)
  }
}

async function onQueue(
  { redis, database }: Stage,
  name: string,
  work: (queue: Queue) => Promise<unknown>,
): Promise<void> {
  const connection = redis && new Redis(redis.url, { maxRetriesPerRequest: 1 })
  connection?.on('error', () => undefined)
  const queue =
    connection === undefined
      ? new (withBackend(createPostgresBackend).Queue)(name, {
          connection: { connectionString: database.url, schema: 'queue', max: 1 },
        })
      : new Queue(name, { connection, prefix: 'loan-activity' })
  queue.on('error', () => undefined)
  try {
    await Promise.race([work(queue as Queue), sleep(GIVES_UP_MS)])
  } finally {
    await Promise.race([queue.close(), sleep(GIVES_UP_MS)])
    connection?.disconnect()
  }
}

/** Adds steps of every kind: from a future writer, from the present one, and without a signature. */
async function addForgedSteps(queue: Queue): Promise<void> {
  const hash = `0x${'ab'.repeat(32)}`
  const block = { number: 999_999_999, hash, timeS: 1 }
  const steps = [
    { type: 'blocks', from: 1, to: block, after: null, headers: [], events: [{ kind: 'CreateLoanOffer', loanId: FORGED_LOAN }], ranges: [] }, // prettier-ignore
    { type: 'reorg', ancestor: { number: 0, hash }, to: block, headers: [], events: [], ranges: [] },
    { type: 'finalized', block },
  ]
  for (const [index, step] of steps.entries()) {
    const payload = deflateRawSync(JSON.stringify(step)).toString('base64')
    for (const writerEpoch of [1, 2, 1_000_000]) {
      const key = { writerEpoch, sequence: index + 1 }
      await queue.add(step.type, { ...key, step: payload })
      await queue.add(step.type, { v: 1, network: NETWORKS[0], ...key, payload, mac: 'A'.repeat(43) })
    }
  }
}

function inflating(): object {
  const payload = deflateRawSync(Buffer.alloc(100 * 1024 * 1024, 'x')).toString('base64')
  return { v: 1, network: NETWORKS[0], writerEpoch: 1, sequence: 1, payload, mac: 'A'.repeat(43) }
}

/** Takes thousands of advisory locks, which any role that may connect can do. */
async function holdAdvisoryLocks({ database }: Stage, random: Random): Promise<void> {
  const client = new pg.Client({ connectionString: database.url, application_name: 'simulation attacker' })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('select pg_try_advisory_lock(key) from generate_series(0, 1000) as key')
    await sleep(random.int(500, 3_000))
  } finally {
    await client.end()
  }
}

/** Opens many sockets that write 64 KiB of requests at once; half of them never read. */
async function pipeline({ apiUrl }: Stage, random: Random): Promise<void> {
  const { hostname, port } = new URL(apiUrl)
  const request = 'GET /api/activity/history/1 HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const body = request.repeat(Math.ceil(PIPELINED / request.length))
  const sockets = Array.from({ length: SOCKETS }, (_, index) => {
    const socket = createConnection({ host: hostname, port: Number(port), localAddress: ATTACKER })
    socket.on('error', () => undefined)
    socket.write(body)
    if (index % 2 === 0) socket.resume()
    return socket
  })
  await sleep(random.int(1_000, 4_000))
  for (const socket of sockets) socket.destroy()
}
