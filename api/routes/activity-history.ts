import type { FastifyInstance } from 'fastify'
import { sendError } from '../plugins/errors.ts'
import { historyPages } from '../queries/activity-pages.ts'
import type { AnswerCache } from '../queries/answer-cache.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { historyAnswer } from '../schemas/activity.ts'
import { responses } from '../schemas/common.ts'
import { mistakeInPage } from '../schemas/parameters.ts'
import { noParameters } from './no-parameters.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** The whole history, newest first, 25 a page. */
export function activityHistory(app: FastifyInstance, database: ReadDatabase, cache: AnswerCache): void {
  const getPage = historyPages(database)
  const schema = { response: responses(historyAnswer, 400, 405, 500, 503) }
  app.route<{ Params: { page?: string } }>({
    method: READ,
    url: '/api/activity/history/:page?',
    schema,
    onRequest: noParameters,
    handler: async (request, reply) => {
      const page = request.params.page || '1'
      const mistake = mistakeInPage(page)
      if (mistake !== null) return sendError(reply, 400, mistake)
      const answer = await cache.answer(`history/${page}`, () => getPage(BigInt(page)))
      if (answer === undefined) throw new Error('a history page is never missing')
      return sendAnswer(request, reply, answer)
    },
  })
}
