import type { FastifyPluginCallback } from 'fastify'
import type * as z from 'zod'
import { taggedAnswer } from '../queries/answer-cache.ts'
import { getIndexingStatus } from '../queries/indexing-status.ts'
import { responses } from '../schemas/common.ts'
import { noQuery } from '../schemas/parameters.ts'
import { publicHealth } from '../schemas/public-health.ts'
import { statusAnswer } from '../schemas/status.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves how far every network is indexed. */
export const status: FastifyPluginCallback = (app, _options, done) => {
  app.route({
    method: READ,
    url: '/api/status',
    schema: {
      tags: ['Service'],
      operationId: 'getStatus',
      summary: 'How far every network is indexed',
      querystring: noQuery,
      response: responses(statusAnswer, 304, 400),
    },
    handler: async (request, reply) => {
      const { records, networks, indexed } = await getIndexingStatus(app.database)
      const { packageVersion: version } = app.config
      const answer: z.input<typeof statusAnswer> = {
        status: 'OK',
        payload: { version, records, networks: networks.map(publicHealth) },
      }
      return sendAnswer(request, reply, taggedAnswer(JSON.stringify(answer), indexed))
    },
  })
  done()
}
