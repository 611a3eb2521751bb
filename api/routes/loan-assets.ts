import type { FastifyPluginCallback } from 'fastify'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { taggedAnswer } from '../queries/answer-cache.ts'
import { getKnownChains } from '../queries/known-chains.ts'
import { getLoanAssets } from '../queries/loan-assets.ts'
import { responses } from '../schemas/common.ts'
import { ALL_NETWORKS, loanAssets as answer, loanAssetsParams } from '../schemas/loan-assets.ts'
import { noQuery, notOneOf } from '../schemas/parameters.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves the tokens that loans name. A symbol is read after its loan, so these answers are never kept. */
export const loanAssets: FastifyPluginCallback = (app, _options, done) => {
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/loanAssets/:networkId',
    schema: {
      tags: ['Service'],
      operationId: 'getLoanAssets',
      summary: 'The tokens that loans name',
      params: loanAssetsParams,
      querystring: noQuery,
      response: responses(answer, 304, 400),
    },
    handler: async (request, reply) => {
      const { networkId } = request.params
      const { networkIds } = await getKnownChains(app.database)
      const isAll = networkId === ALL_NETWORKS
      if (!isAll && !networkIds.includes(networkId))
        return sendError(reply, 400, notOneOf('networkId', [ALL_NETWORKS, ...networkIds]))
      const { assets, indexed } = await getLoanAssets(app.database, isAll ? networkIds : [networkId])
      return sendAnswer(
        request,
        reply,
        taggedAnswer(JSON.stringify({ status: 'OK', payload: assets }), indexed),
      )
    },
  })
  done()
}
