import underPressure from '@fastify/under-pressure'
import { getHeapStatistics } from 'node:v8'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { FairQueue } from '../connections/fair-queue.ts'
import { clientKey, isHealthCheck } from './client-key.ts'
import { Overloaded } from './errors.ts'

/** Three for each connection to the database: more would only wait there, where clients take no turns. */
const MOST_RUNNING = 32
const MOST_WAITING = 1000
/** At 150 the p99 of accepted requests under a threefold load was 314 ms; 250 are wanted, so a third is left to spare. */
const MOST_WAIT_MS = 80
const MOST_OF_HEAP = 0.85
const SAMPLE_EVERY_MS = 500
/** One for all: a refusal must cost little. */
const OVERLOAD = new Overloaded('the API has more to do than it can: try again')

const RUNNING = Symbol('running')

/** Bounds what runs at once; refuses the rest with 503 and `Retry-After`. Health checks are always answered. */
export const loadLimit = fp(
  async (app) => {
    // Not the delay of the event loop: after a freeze of the machine, or a slow start, it refuses what could be answered.
    await app.register(underPressure, {
      maxHeapUsedBytes: MOST_OF_HEAP * getHeapStatistics().heap_size_limit,
      sampleInterval: SAMPLE_EVERY_MS,
      pressureHandler: (request) => (isHealthCheck(request) ? Promise.resolve() : Promise.reject(OVERLOAD)),
    })
    const queue = new FairQueue({ running: MOST_RUNNING, waiting: MOST_WAITING, waitMs: MOST_WAIT_MS })
    app.decorateRequest(RUNNING, false)
    app.addHook('onRequest', (request, _reply, done) => {
      if (isHealthCheck(request)) {
        done()
        return
      }
      queue.ask(clientKey(request), (mayRun) => {
        if (!mayRun) {
          done(OVERLOAD)
          return
        }
        request[RUNNING] = true
        done()
      })
    })
    const leave = (request: FastifyRequest): void => {
      if (!request[RUNNING]) return
      request[RUNNING] = false
      queue.leave()
    }
    // The answer is ready. Its way to the client is bounded by the connection.
    app.addHook('onSend', (request, _reply, payload, done) => {
      leave(request)
      done(null, payload)
    })
    app.addHook('onResponse', (request, _reply, done) => {
      leave(request)
      done()
    })
  },
  { name: 'load-limit' },
)

declare module 'fastify' {
  interface FastifyRequest {
    [RUNNING]: boolean
  }
}
