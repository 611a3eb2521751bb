import type { FastifyPluginCallback } from 'fastify'
import { taggedAnswer } from '../queries/answer-cache.ts'
import { getProtocolContracts } from '../queries/protocol-contracts.ts'
import { responses } from '../schemas/common.ts'
import { protocolContracts as answer } from '../schemas/loan-lists.ts'
import { noQuery } from '../schemas/parameters.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves the addresses of the contracts that are indexed. */
export const protocolContracts: FastifyPluginCallback = (app, _options, done) => {
  app.route({
    method: READ,
    url: '/api/protocolContracts',
    schema: {
      tags: ['Service'],
      operationId: 'getProtocolContracts',
      summary: 'The contracts of each EVM chain',
      querystring: noQuery,
      response: responses(answer, 304, 400),
    },
    handler: async (request, reply) => {
      const { contracts: payload, indexed } = await getProtocolContracts(app.database)
      return sendAnswer(request, reply, taggedAnswer(JSON.stringify({ status: 'OK', payload }), indexed))
    },
  })
  done()
}
