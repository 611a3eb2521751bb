import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { sendError } from '../plugins/errors.ts'
import { ACTIVITY_FILTERS, searchActivity } from '../queries/activity-search.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { searchAnswer, searchQuery } from '../schemas/activity.ts'
import { responses } from '../schemas/common.ts'

/** The history by keyset: filters, and pages that stay put while records arrive. */
export function activitySearch(app: FastifyInstance, database: ReadDatabase): void {
  const schema = { response: responses(searchAnswer, 400, 405, 500, 503) }
  app.get('/api/activity', { schema }, async (request, reply) => {
    const query = searchQuery.safeParse(request.query)
    if (!query.success) return sendError(reply, 400, describe(query.error))
    const { before, limit, ...rest } = query.data
    const filters = Object.fromEntries(
      ACTIVITY_FILTERS.flatMap((name) => (rest[name] === undefined ? [] : [[name, rest[name]]])),
    )
    const answer = await searchActivity(database, { before, limit, filters })
    return reply.type('application/json; charset=utf-8').send(answer)
  })
}

/** It can quote the name of a parameter, which is as long as a URL can be. */
const MAX_MESSAGE = 200

function describe(error: z.ZodError): string {
  const [issue] = error.issues
  return [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ').slice(0, MAX_MESSAGE)
}
