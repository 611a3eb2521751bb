import type { FastifyInstance } from 'fastify'
import { sendError } from '../plugins/errors.ts'
import { getHistoryPage } from '../queries/activity-pages.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { historyAnswer } from '../schemas/activity.ts'
import { responses } from '../schemas/common.ts'

const PAGE = /^[1-9]\d*$/

/** The whole history, newest first, 25 a page. */
export function activityHistory(app: FastifyInstance, database: ReadDatabase): void {
  const schema = { response: responses(historyAnswer, 400, 405, 500, 503) }
  app.get<{ Params: { page?: string } }>(
    '/api/activity/history/:page?',
    { schema },
    async (request, reply) => {
      const page = request.params.page || '1'
      if (!PAGE.test(page)) return sendError(reply, 400, 'page must be a positive integer')
      return reply.type('application/json; charset=utf-8').send(await getHistoryPage(database, BigInt(page)))
    },
  )
}
