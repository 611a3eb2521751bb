import type { FastifyPluginCallback } from 'fastify'
import type { ZodTypes } from '../plugins/schemas.ts'
import { historyPages } from '../queries/activity-pages.ts'
import { historyAnswer } from '../schemas/activity.ts'
import { responses } from '../schemas/common.ts'
import { noQuery, pageParams } from '../schemas/parameters.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves the whole history, newest first, 25 records a page. */
export const activityHistory: FastifyPluginCallback = (app, _options, done) => {
  const getPage = historyPages(app.database)
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/activity/history/:page?',
    schema: {
      params: pageParams,
      querystring: noQuery,
      response: responses(historyAnswer, 400, 405, 500, 503),
    },
    handler: async (request, reply) => {
      const { page } = request.params
      const answer = await app.answers.answer(`history/${page}`, () => getPage(page))
      if (answer === undefined) throw new Error('a history page is never missing')
      return sendAnswer(request, reply, answer)
    },
  })
  done()
}
