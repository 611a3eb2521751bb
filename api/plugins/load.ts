import underPressure from '@fastify/under-pressure'
import { getHeapStatistics } from 'node:v8'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { FairQueue } from '../connections/fair-queue.ts'
import { clientKey, isHealthCheck } from './client-key.ts'
import { Overloaded } from './errors.ts'

/** Three for each database connection: more would only wait for a connection, where clients take no turns. */
const MOST_RUNNING = 32
const MOST_WAITING = 1000
/**
 * A value of 150 gave accepted requests a p99 of 314 ms under a threefold load. The target is 250 ms, so 80 leaves a
 * third to spare.
 */
const MOST_WAIT_MS = 80
const MOST_OF_HEAP = 0.85
const SAMPLE_EVERY_MS = 500
/** One shared instance: a refusal must cost little. */
const OVERLOAD = new Overloaded('the API has more to do than it can: try again')

const RUNNING = Symbol('running')

/** Bounds how many requests run at once and refuses the rest with 503 and `Retry-After`. Health checks always pass. */
export const loadLimit = fp(
  async (app) => {
    // Event-loop delay is not a criterion: after a freeze or a slow start it would refuse requests that could be
    // answered.
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
    // The answer is ready here; the connection bounds the time of its delivery.
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
