import type { FastifyPluginCallback } from 'fastify'
import type { ZodTypes } from '../plugins/schemas.ts'
import { findDailyFigures } from '../queries/daily-figures.ts'
import { responses } from '../schemas/common.ts'
import { dailyAnswer, dailyQuery } from '../schemas/daily-figures.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves how many loans of each token were opened and ended on each day. */
export const dailyFigures: FastifyPluginCallback = (app, _options, done) => {
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/stats/daily',
    schema: {
      tags: ['Loans'],
      operationId: 'getDailyFigures',
      summary: 'Loans opened and ended, day by day',
      querystring: dailyQuery,
      response: responses(dailyAnswer, 304, 400),
    },
    handler: async (request, reply) => {
      const answer = await app.answers.answer(`daily/${JSON.stringify(request.query)}`, () =>
        findDailyFigures(app.database, request.query),
      )
      if (answer === undefined) throw new Error('daily figures are never missing')
      return sendAnswer(request, reply, answer)
    },
  })
  done()
}
