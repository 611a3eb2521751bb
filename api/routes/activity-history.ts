import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
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
  const sendPage = async (request: FastifyRequest, reply: FastifyReply, page: bigint) => {
    const answer = await app.answers.answer(`history/${page}`, () => getPage(page))
    if (answer === undefined) throw new Error('a history page is never missing')
    return sendAnswer(request, reply, answer)
  }
  const about = { tags: ['Activity'], querystring: noQuery, response: responses(historyAnswer, 304, 400) }
  app.route({
    method: READ,
    url: '/api/activity/history',
    schema: { ...about, operationId: 'getNewestHistory', summary: 'The newest 25 records' },
    handler: (request, reply) => sendPage(request, reply, 1n),
  })
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/activity/history/:page',
    schema: {
      ...about,
      operationId: 'getHistoryPage',
      summary: 'A page of the history by its number',
      params: pageParams,
    },
    handler: (request, reply) => sendPage(request, reply, request.params.page),
  })
  done()
}
