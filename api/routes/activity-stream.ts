import { Readable } from 'node:stream'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Cursor } from '../../shared/events/record-event.ts'
import { clientKey } from '../plugins/client-key.ts'
import { Overloaded, sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { mistakeInChains } from '../queries/known-chains.ts'
import { otherResponses } from '../schemas/common.ts'
import { streamAnswer, streamHeaders, streamQuery } from '../schemas/stream.ts'
import { followFeed } from '../stream/follow-feed.ts'
import { OpenStreams } from '../stream/open-streams.ts'
import { RecordFeed } from '../stream/record-feed.ts'
import type { RecordFilter } from '../stream/record-filter.ts'
import { READ } from './read.ts'

const OVERFULL = new Overloaded('the API has as many open streams as it can take: try again')

interface Start {
  /** The place after which its changes begin. */
  start: Cursor
  now: Cursor
  filter: RecordFilter | null
}

/** Serves the history's changes as server-sent events. */
export const activityStream: FastifyPluginCallback = (app, _options, done) => {
  const feed = new RecordFeed(app.database, app.log)
  const streams = new OpenStreams(app.config.streamLimits, () => feed.wake())
  app.addHook('preClose', (next) => {
    streams.endAll()
    next()
  })
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/activity/stream',
    schema: {
      tags: ['Activity'],
      operationId: 'streamActivity',
      summary: 'Changes of the history as they happen',
      querystring: streamQuery,
      headers: streamHeaders,
      response: { 200: streamAnswer, ...otherResponses(400) },
    },
    handler: async (request, reply) => {
      const { lastEventId, ...fields } = request.query
      const asked = request.headers['last-event-id'] ?? lastEventId
      const filter = Object.values(fields).some((values) => values !== undefined) ? fields : null
      const mistake = await mistakeInChains(app.database, fields)
      if (mistake !== null) return sendError(reply, 400, mistake)
      const limit = streams.limitFor(clientKey(request))
      if (limit === 'all') throw OVERFULL
      if (limit === 'client') return refuse(reply)
      // Also asked for a resumed stream: an API without its database opens none.
      const now = await feed.now()
      // It disappeared meanwhile: nothing would tell when to give its place back.
      if (reply.raw.destroyed) return reply.send()
      void reply.type('text/event-stream').header('cache-control', 'no-store')
      // nginx would hold events back until its buffer is full.
      void reply.header('x-accel-buffering', 'no').header('connection', 'close')
      const start = { start: asked ?? now, now, filter }
      return request.method === 'HEAD' ? reply.send() : reply.send(open(request, reply, start))
    },
  })
  done()

  function open(request: FastifyRequest, reply: FastifyReply, { start, now, filter }: Start): Readable {
    const progress = { isClosed: false, sentMs: undefined }
    const stream = {
      client: clientKey(request),
      progress,
      end: (isBrokenOff: boolean) => {
        progress.isClosed = true
        if (isBrokenOff) reply.raw.destroy()
      },
    }
    streams.add(stream)
    feed.open(now)
    reply.raw.once('close', () => {
      stream.end(true)
      streams.remove(stream)
      feed.close()
    })
    return Readable.from(followFeed(feed, start, progress, filter), { objectMode: false, highWaterMark: 1 })
  }
}

function refuse(reply: FastifyReply): FastifyReply {
  return sendError(reply.header('retry-after', '10'), 429, 'too many open streams of this client: close one')
}
