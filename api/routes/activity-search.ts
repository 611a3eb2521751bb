import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendError } from '../plugins/errors.ts'
import { ACTIVITY_FILTERS, searchActivity } from '../queries/activity-search.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { getKnownChains } from '../queries/known-chains.ts'
import { searchAnswer, searchQuery } from '../schemas/activity.ts'
import { mistakeInQuery, notOneOf } from '../schemas/parameters.ts'
import { responses } from '../schemas/common.ts'
import { READ } from './read.ts'

/** The history by keyset: filters, and pages that stay put while records arrive. */
export function activitySearch(app: FastifyInstance, database: ReadDatabase): void {
  const schema = { response: responses(searchAnswer, 400, 405, 500, 503) }
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const query = searchQuery.safeParse(request.query)
    if (!query.success) return sendError(reply, 400, mistakeInQuery(query.error))
    const { before, limit, ...rest } = query.data
    const filters = Object.fromEntries(
      ACTIVITY_FILTERS.flatMap((name) => (rest[name] === undefined ? [] : [[name, rest[name]]])),
    )
    const answer = await searchActivity(database, { before, limit, filters })
    const mistake = answer.isEmpty ? await mistakeInNetwork(database, rest) : null
    if (mistake !== null) return sendError(reply, 400, mistake)
    return reply.type('application/json; charset=utf-8').send(answer.json)
  }
  app.route({ method: READ, url: '/api/activity', schema, handler })
}

/** Only a search that finds nothing can have asked for a chain that does not exist. */
async function mistakeInNetwork(
  database: ReadDatabase,
  { blockchain, networkId }: { blockchain?: string | undefined; networkId?: string | undefined },
): Promise<string | null> {
  if (blockchain === undefined && networkId === undefined) return null
  const { blockchains, networkIds } = await getKnownChains(database)
  if (blockchain !== undefined && !blockchains.includes(blockchain))
    return notOneOf('blockchain', blockchains)
  // Before anything is configured none is known.
  if (networkId !== undefined && networkIds.length > 0 && !networkIds.includes(networkId))
    return notOneOf('networkId', networkIds)
  return null
}
