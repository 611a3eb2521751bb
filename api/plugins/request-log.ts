import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import { Repeats } from '../../shared/repeats.ts'

/** Pairs of route and status whose repeated lines are summed up at the same time. */
const MOST_SUMMED = 200

/** What the log says of a request: a template instead of its path, and no address, query string or account. */
interface RequestLine {
  id: string
  method: string
  route: string
  status: number
  /** Time from the request to the end of its answer. */
  ms: number
}

/** Logs all requests, or those with answers of 500 and above, repeated ones summed up; see API_REQUEST_LOG. */
export const requestLog = fp(
  (app, _options, done) => {
    const { API_REQUEST_LOG: kind = 'off' } = app.config
    const summed = new LRUCache<string, { repeats: Repeats; last: RequestLine }>({ max: MOST_SUMMED })
    const sumUp = (line: RequestLine): void => {
      const key = `${line.status} ${line.route}`
      const entry = summed.get(key) ?? {
        repeats: new Repeats({ write: (text) => app.log.warn(entry.last, text) }),
        last: line,
      }
      entry.last = line
      summed.set(key, entry)
      entry.repeats.note('request')
    }
    if (kind === 'all') {
      app.addHook('onResponse', (request, reply, next) => {
        app.log.info(lineOf(request, reply), 'request')
        next()
      })
    } else if (kind === 'errors') {
      app.addHook('onResponse', (request, reply, next) => {
        if (reply.statusCode >= 500) sumUp(lineOf(request, reply))
        next()
      })
    }
    done()
  },
  { name: 'request-log', dependencies: ['services'] },
)

function lineOf({ id, method, routeOptions }: FastifyRequest, reply: FastifyReply): RequestLine {
  const ms = Math.round(reply.elapsedTime * 10) / 10
  return { id, method, route: routeOptions.url ?? 'unknown', status: reply.statusCode, ms }
}
