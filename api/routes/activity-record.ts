import type { FastifyPluginCallback } from 'fastify'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { taggedAnswer } from '../queries/answer-cache.ts'
import { findProvenance } from '../queries/provenance.ts'
import { responses } from '../schemas/common.ts'
import { noQuery } from '../schemas/parameters.ts'
import { provenanceAnswer, provenanceOf, recordParams } from '../schemas/provenance.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves one record, and how this service knows it. */
export const activityRecord: FastifyPluginCallback = (app, _options, done) => {
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/activity/:id',
    schema: {
      tags: ['Activity'],
      operationId: 'getRecord',
      summary: 'A record, and how this service knows it',
      params: recordParams,
      querystring: noQuery,
      response: responses(provenanceAnswer, 304, 400, 404),
    },
    handler: async (request, reply) => {
      const { id } = request.params
      const found = await findProvenance(app.database, id)
      if (found === undefined) return sendError(reply, 404, `there is no record ${id}`)
      return sendAnswer(
        request,
        reply,
        taggedAnswer(JSON.stringify({ status: 'OK', payload: provenanceOf(found) }), found.indexed),
      )
    },
  })
  done()
}
