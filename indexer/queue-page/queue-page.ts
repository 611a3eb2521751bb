import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import { fastify, type FastifyInstance } from 'fastify'
import { messageOf } from '../../shared/errors.ts'
import type { PageQueues } from '../queue/page-queues.ts'
import { shownData } from '../queue/shown-data.ts'
import { QUEUE_PAGE_PATH, type QueuePageParts } from './parts.ts'

/** Jobs of one answer: each may have half a megabyte. */
const MOST_JOBS = 20
const WITHIN_MS = 10_000

/** The document names a font of another site, which is not loaded. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data:", "font-src 'self'"],
  ...["connect-src 'self'", "base-uri 'self'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ')

/** Bull Board with all queues. Rejects if the queue or the database is away. */
export async function buildQueuePage(parts: QueuePageParts): Promise<FastifyInstance> {
  const queues = await parts.openQueues()
  return buildPageOf(queues, parts).catch(async (error: unknown) => {
    await queues.close()
    throw error
  })
}

async function buildPageOf(queues: PageQueues, parts: QueuePageParts): Promise<FastifyInstance> {
  await queues.waitUntilReady()
  const server = new FastifyAdapter().setBasePath(QUEUE_PAGE_PATH)
  const uiConfig = { boardTitle: 'Loan activity', showWorkers: false }
  const options = { uiBasePath: findUi(), uiConfig }
  const board = createBullBoard({ queues: [], serverAdapter: server, options })
  const adapters = new Map<string, BullMQAdapter>()
  const refresh = async (): Promise<void> => {
    for (const name of await parts.queueNames()) {
      if (adapters.has(name)) continue
      const adapter = new BullMQAdapter(queues.open(name), { readOnlyMode: parts.mode === 'read' })
      adapter.setFormatter('data', shownData)
      adapters.set(name, adapter)
    }
    board.replaceQueues([...adapters.values()])
  }
  await refresh()
  const app = fastify({ handlerTimeout: WITHIN_MS, bodyLimit: 64 * 1024 })
  app.addHook('onClose', () => queues.close())
  app.addHook('preHandler', async ({ headers, query }, reply) => {
    reply.header('content-security-policy', POLICY).header('referrer-policy', 'no-referrer')
    reply.header('x-content-type-options', 'nosniff').header('cache-control', 'private, no-cache')
    const asked = query as { jobsPerPage?: string }
    if (Number(asked.jobsPerPage) > MOST_JOBS) asked.jobsPerPage = String(MOST_JOBS)
    // A document: queues of new webhooks show once the page is loaded again.
    if (headers.accept?.includes('text/html') === true) {
      await refresh().catch((error: unknown) => parts.log.warn(messageOf(error)))
    }
  })
  await app.register(server.registerPlugin(), { prefix: QUEUE_PAGE_PATH })
  await app.ready()
  return app
}

/** The files of the page: `npm run build` copies them into dist/queue-page/. */
function findUi(): string {
  const built = fileURLToPath(new URL('../queue-page/', import.meta.url))
  if (existsSync(`${built}dist/index.ejs`)) return built
  return dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'))
}
