import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Statement } from '../queries/read-database.ts'
import { clientKey } from './client-key.ts'
import { Behind, sendError } from './errors.ts'

const HEADER = 'x-min-position'
const WAIT_MS = 2_000
const LOOK_EVERY_MS = 50
/** A waiting request keeps one of the places of those that run at once (load.ts): most of them stay free. */
const MOST_WAITING = 8
const MOST_OF_ONE_CLIENT = 2
/** Positions that a replica may be behind. A client that names a later one did not get it from us. */
const MOST_BEHIND = 10_000

const POSITION: Statement = {
  name: 'position',
  text: 'select folded_position::float8 as position from projection.fold_state',
}

/**
 * Lets a request with `X-Min-Position` wait until this API's database has the log up to that position. Replicas differ by
 * what is not yet replayed, and a client that was led to another one would otherwise see less than before.
 */
export const minPosition = fp(
  (app, _options, done) => {
    const waiting: string[] = []
    let looking: Promise<number> | undefined
    // Positions do not fall, so that requests may share a look that began before them.
    const look = (): Promise<number> =>
      (looking ??= app.database
        .rows<{ position: number }>(POSITION)
        .then(([row]) => row?.position ?? 0)
        .finally(() => (looking = undefined)))
    const waitFor = async (position: number, { raw }: FastifyRequest): Promise<void> => {
      const deadlineMs = performance.now() + WAIT_MS
      while (!raw.socket.destroyed && (await look()) < position) {
        if (performance.now() > deadlineMs) throw new Behind(position)
        await sleep(LOOK_EVERY_MS)
      }
    }
    app.decorateRequest('minPosition', 0)
    app.addHook('preHandler', async (request, reply) => {
      const asked = request.headers[HEADER]
      if (asked === undefined || request.is404 || !request.url.startsWith('/api/')) return
      const position = Number(asked)
      if (!/^\d+$/.test(String(asked)) || !Number.isSafeInteger(position))
        return sendError(reply, 400, 'X-Min-Position must be the X-Position of an answer')
      request.minPosition = position
      const reached = await look()
      if (reached >= position) return
      const client = clientKey(request)
      const own = waiting.filter((one) => one === client).length
      if (position - reached > MOST_BEHIND || own >= MOST_OF_ONE_CLIENT || waiting.length >= MOST_WAITING)
        throw new Behind(position)
      waiting.push(client)
      try {
        await waitFor(position, request)
      } finally {
        waiting.splice(waiting.indexOf(client), 1)
      }
    })
    done()
  },
  { name: 'min-position', dependencies: ['services', 'load-limit', 'rate-limit-per-client'] },
)

declare module 'fastify' {
  interface FastifyRequest {
    /** Log position that the answer must have at least. */
    minPosition: number
  }
}
