import cors from '@fastify/cors'
import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import {
  fastify,
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
} from 'fastify'
import pLimit from 'p-limit'
import pTimeout from 'p-timeout'
import type { Environment } from '../../shared/config/config.ts'
import { messageOf } from '../../shared/errors.ts'
import { parseHandedIn, type HandedIn } from '../../shared/events/handed-in.ts'
import { networkOf, whichNetwork } from '../handed-in-network.ts'
import type { Examination } from '../ingest/ingest-voucher.ts'
import type { IntakeMetrics } from './metrics.ts'
import { MOST_VOUCHER_CHARACTERS } from '../queue/voucher-worker.ts'

export interface IntakeParts {
  /** Keys of the configured Filecoin networks. */
  networks: string[]
  /** Judges by what the index knows of the channel; rejects when the database fails. */
  examine: (network: string, item: HandedIn) => Promise<Examination>
  /** Adds a job for the voucher worker. */
  enqueue: (networkId: string, item: HandedIn) => Promise<void>
  /** Rejects with what is away: the database or the queue. */
  check: () => Promise<void>
  settings: Pick<Environment, 'API_CORS_ORIGINS' | 'API_TRUST_PROXY'>
  log: FastifyBaseLogger
  metrics: IntakeMetrics
}

/** Items of one address. A loan has two vouchers and one statement. */
const RATE = { max: 60, timeWindow: 60_000 }
/** Signatures that are verified at once, and items that wait for it. A BLS signature takes tens of milliseconds. */
const [AT_ONCE, MOST_WAITING] = [2, 50]
const WITHIN_MS = 3_000
const ROUTES = { '/vouchers': 'voucher', '/statements': 'statement' } as const
/** Answers to requests that were refused because too many wait. */
const shed = new WeakSet<FastifyReply>()

/** The HTTP server that takes signed vouchers and statements, not yet listening. */
export async function buildIntake(parts: IntakeParts): Promise<FastifyInstance> {
  const { API_CORS_ORIGINS: origin, API_TRUST_PROXY: proxies } = parts.settings
  const app = fastify({
    loggerInstance: parts.log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MOST_VOUCHER_CHARACTERS,
    trustProxy: proxies.length > 0 && proxies,
    ...{ connectionTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 10_000 },
  })
  app.server.maxConnections = 1_000
  await app.register(cors, { origin, methods: ['POST'], strictPreflight: false, maxAge: 86_400 })
  await app.register(rateLimit, {
    ...RATE,
    global: false,
    keyGenerator: ({ ip }) => normalizeIP(ip.slice(0, 64)),
    errorResponseBuilder: (_request, { after }) =>
      Object.assign(new Error(`too many requests: try again in ${after}`), { statusCode: 429 }),
  })
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    const code = error.statusCode ?? 503
    if (code < 500) return sendError(reply, code, error.message)
    parts.log.warn({ error: messageOf(error) }, 'a voucher could not be taken')
    return sendError(reply.header('retry-after', '1'), 503, 'the database or the queue is away: try again')
  })
  app.setNotFoundHandler((_request, reply) =>
    sendError(reply, 404, 'there is no such route: POST to /vouchers or /statements'),
  )
  app.get('/healthz', () => ({ status: 'OK' }))
  app.get('/readyz', async (_request, reply) => {
    await within(parts.check())
    return reply.send({ status: 'OK' })
  })
  app.addHook('onResponse', (request, reply, next) => {
    const kind = (ROUTES as Record<string, 'voucher' | 'statement'>)[request.routeOptions.url ?? '']
    const answer = { status: reply.statusCode, ms: reply.elapsedTime, isShed: shed.has(reply) }
    if (kind !== undefined && request.method === 'POST') parts.metrics.onAnswer(kind, answer)
    next()
  })
  const turns = pLimit(AT_ONCE)
  for (const [url, kind] of Object.entries(ROUTES)) {
    app.post(url, { config: { rateLimit: RATE } }, async ({ body }, reply) => {
      if (turns.pendingCount >= MOST_WAITING) {
        shed.add(reply)
        return sendError(reply.header('retry-after', '1'), 503, 'too many others wait: try again')
      }
      return take(parts, kind, body, reply, (work) => turns(work))
    })
  }
  return app
}

async function take(
  { networks, examine, enqueue }: IntakeParts,
  kind: 'voucher' | 'statement',
  body: unknown,
  reply: FastifyReply,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<FastifyReply> {
  const parsed = parseHandedIn(body)
  if (!parsed.ok) return sendError(reply, 400, parsed.reason)
  const { item } = parsed
  if (!(kind in item)) return sendError(reply, 400, `it must have a \`${kind}\` here`)
  const network = networkOf(networks, parsed.networkId)
  if (network === undefined) return sendError(reply, 400, whichNetwork(networks, parsed.networkId))
  const { outcome, reason } = await inTurn(() => within(examine(network, item)))
  switch (outcome) {
    case 'known':
      return reply.send({ status: 'OK', payload: { outcome } })
    case 'signed':
      await within(enqueue(network.slice(network.indexOf(':') + 1), item))
      return reply.code(202).send({ status: 'OK', payload: { outcome: 'queued' } })
    case 'unverified':
      return sendError(reply, 409, `${reason}: hand it in again later`)
    case 'refused':
      return sendError(reply, 422, reason)
  }
}

/** A frozen server must not hold requests. */
function within<T>(work: Promise<T>): Promise<T> {
  return pTimeout(work, { milliseconds: WITHIN_MS })
}

function sendError(reply: FastifyReply, code: number, message: string): FastifyReply {
  return reply.code(code).send({ status: 'ERROR', message })
}
