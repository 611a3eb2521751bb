import type { FastifyPluginCallback } from 'fastify'
import type * as z from 'zod'
import { acceptedType } from '../exports/accepted-type.ts'
import { EXPORT_FORMATS } from '../exports/formats.ts'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { searchActivity, type ActivityFilters, type ActivitySearch } from '../queries/activity-search.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { getKnownChains } from '../queries/known-chains.ts'
import { PAGE_RECORDS, searchAnswer, searchQuery, withExports } from '../schemas/activity.ts'
import { notOneOf } from '../schemas/parameters.ts'
import { responses } from '../schemas/common.ts'
import { READ } from './read.ts'
import { exportsOf } from './activity-export.ts'
import { addVary, sendAnswer } from './send-answer.ts'

const NOTHING = Buffer.from('{"status":"OK","payload":[],"next":null}')

/** Serves the history by keyset: with filters, and with pages that stay stable while records arrive. */
export const activitySearch: FastifyPluginCallback = (app, _options, done) => {
  const sendExport = exportsOf(app)
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/activity',
    schema: {
      tags: ['Activity'],
      operationId: 'searchActivity',
      summary: 'Records by filters, page by page',
      querystring: searchQuery,
      response: withExports(responses(searchAnswer, 304, 400)),
    },
    onRequest: (_request, reply, next) => {
      addVary(reply, 'accept')
      next()
    },
    handler: async (request, reply) => {
      const type = acceptedType(request.headers.accept)
      const search = toSearch(request.query, type === 'application/json' ? PAGE_RECORDS : Infinity)
      if (type !== 'application/json') {
        const mistake = await mistakeInChains(app.database, search.filters)
        if (mistake !== null) return sendError(reply, 400, mistake)
        return sendExport(request, reply, { search, format: EXPORT_FORMATS[type] })
      }
      const answer = await app.answers.answer(`search/${JSON.stringify(search)}`, () =>
        searchActivity(app.database, search),
      )
      if (answer === undefined) throw new Error('a search is never missing')
      // A single chain that has records exists.
      const isSure = !hasSeveralChains(search.filters) && !answer.body.equals(NOTHING)
      const mistake = isSure ? null : await mistakeInChains(app.database, search.filters)
      if (mistake !== null) return sendError(reply, 400, mistake)
      return sendAnswer(request, reply, answer)
    },
  })
  done()
}

function toSearch(query: z.output<typeof searchQuery>, usualLimit: number): ActivitySearch {
  const { before, after, from, to, limit = usualLimit, ...filters } = query
  return { before, after, from, to, limit, filters }
}

function hasSeveralChains({ blockchain = [], networkId = [] }: ActivityFilters): boolean {
  return blockchain.length > 1 || networkId.length > 1
}

async function mistakeInChains(
  database: ReadDatabase,
  { blockchain = [], networkId = [] }: ActivityFilters,
): Promise<string | null> {
  if (blockchain.length + networkId.length === 0) return null
  const { blockchains, networkIds } = await getKnownChains(database)
  if (!blockchain.every((one) => blockchains.includes(one))) return notOneOf('blockchain', blockchains)
  // No chain is known before one is configured.
  const isKnown = networkIds.length === 0 || networkId.every((one) => networkIds.includes(one))
  return isKnown ? null : notOneOf('networkId', networkIds)
}
