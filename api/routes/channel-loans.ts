import type { FastifyPluginCallback } from 'fastify'
import type { ZodTypes } from '../plugins/schemas.ts'
import { taggedAnswer } from '../queries/answer-cache.ts'
import { getChannelLoans } from '../queries/channel-loans.ts'
import { channelLoans as answer, channelParams } from '../schemas/channel-loans.ts'
import { responses } from '../schemas/common.ts'
import { noQuery } from '../schemas/parameters.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves the loan that a payment channel belongs to. */
export const channelLoans: FastifyPluginCallback = (app, _options, done) => {
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/loans/channel/:channel',
    schema: {
      tags: ['Loans'],
      operationId: 'getLoansOfChannel',
      summary: 'The loan of a payment channel',
      params: channelParams,
      querystring: noQuery,
      response: responses(answer, 304, 400),
    },
    handler: async (request, reply) => {
      const { loans, indexed } = await getChannelLoans(app.database, request.params.channel)
      return sendAnswer(
        request,
        reply,
        taggedAnswer(JSON.stringify({ status: 'OK', payload: loans }), indexed),
      )
    },
  })
  done()
}
