import type { FastifyPluginCallback } from 'fastify'
import { getIndexingStatus } from '../queries/indexing-status.ts'
import { responses } from '../schemas/common.ts'
import { noQuery } from '../schemas/parameters.ts'
import { publicHealth } from '../schemas/public-health.ts'
import { statusAnswer } from '../schemas/status.ts'
import { READ } from './read.ts'

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
      response: responses(statusAnswer, 400),
    },
    handler: async () => {
      const { records, networks } = await getIndexingStatus(app.database)
      const { packageVersion: version } = app.config
      return { status: 'OK', payload: { version, records, networks: networks.map(publicHealth) } }
    },
  })
  done()
}
