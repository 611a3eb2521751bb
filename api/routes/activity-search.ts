import type { FastifyPluginCallback } from 'fastify'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { searchActivity } from '../queries/activity-search.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { getKnownChains } from '../queries/known-chains.ts'
import { searchAnswer, searchQuery } from '../schemas/activity.ts'
import { notOneOf } from '../schemas/parameters.ts'
import { responses } from '../schemas/common.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

const NOTHING = Buffer.from('{"status":"OK","payload":[],"next":null}')

/** Serves the history by keyset: with filters, and with pages that stay stable while records arrive. */
export const activitySearch: FastifyPluginCallback = (app, _options, done) => {
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/activity',
    schema: {
      tags: ['Activity'],
      operationId: 'searchActivity',
      summary: 'Records by filters, page by page',
      querystring: searchQuery,
      response: responses(searchAnswer, 304, 400),
    },
    handler: async (request, reply) => {
      const { before, limit, ...filters } = request.query
      const answer = await app.answers.answer(`search/${JSON.stringify(request.query)}`, () =>
        searchActivity(app.database, { before, limit, filters }),
      )
      if (answer === undefined) throw new Error('a search is never missing')
      const mistake = answer.body.equals(NOTHING) ? await mistakeInNetwork(app.database, filters) : null
      if (mistake !== null) return sendError(reply, 400, mistake)
      return sendAnswer(request, reply, answer)
    },
  })
  done()
}

/** Checks for an unknown chain only after an empty search: a chain that has records exists. */
async function mistakeInNetwork(
  database: ReadDatabase,
  { blockchain, networkId }: { blockchain?: string | undefined; networkId?: string | undefined },
): Promise<string | null> {
  if (blockchain === undefined && networkId === undefined) return null
  const { blockchains, networkIds } = await getKnownChains(database)
  if (blockchain !== undefined && !blockchains.includes(blockchain))
    return notOneOf('blockchain', blockchains)
  // No chain is known before one is configured.
  if (networkId !== undefined && networkIds.length > 0 && !networkIds.includes(networkId))
    return notOneOf('networkId', networkIds)
  return null
}
