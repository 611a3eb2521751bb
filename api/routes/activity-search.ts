import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { acceptedType, type MediaType } from '../exports/accepted-type.ts'
import type { Find } from '../exports/export-lines.ts'
import { EXPORT_FORMATS } from '../exports/formats.ts'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { searchPastActivity, TooManyLoans } from '../queries/activity-past.ts'
import { searchActivity } from '../queries/activity-search.ts'
import type { ActivityFilters, ActivitySearch } from '../queries/activity-sql.ts'
import { taggedAnswer } from '../queries/answer-cache.ts'
import { findMoment } from '../queries/as-of.ts'
import { mistakeInChains } from '../queries/known-chains.ts'
import { PAGE_RECORDS, searchAnswer, searchQuery, withExports } from '../schemas/activity.ts'
import type { AsOf } from '../schemas/as-of.ts'
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
      response: withExports(responses(searchAnswer, 304, 400, 404)),
    },
    onRequest: (_request, reply, next) => {
      addVary(reply, 'accept')
      next()
    },
    handler: async (request, reply) => {
      const type = acceptedType(request.headers.accept)
      const search = toSearch(request.query, type === 'application/json' ? PAGE_RECORDS : Infinity)
      if (request.query.asOf !== undefined) return sendPast(request, reply, request.query.asOf, search, type)
      if (type !== 'application/json') {
        const mistake = await mistakeInChains(app.database, search.filters)
        if (mistake !== null) return sendError(reply, 400, mistake)
        return sendExport(request, reply, { search, format: EXPORT_FORMATS[type], find: searchActivity })
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

  async function sendPast(
    request: FastifyRequest,
    reply: FastifyReply,
    asOf: AsOf,
    search: ActivitySearch,
    type: MediaType,
  ): Promise<FastifyReply> {
    const mistake = await mistakeInChains(app.database, search.filters)
    if (mistake !== null) return sendError(reply, 400, mistake)
    const moment = await findMoment(app.database, asOf)
    if ('code' in moment) return sendError(reply, moment.code, moment.message)
    const find: Find = (database, page) => searchPastActivity(database, page, moment.position)
    try {
      if (type !== 'application/json')
        return await sendExport(request, reply, { search, format: EXPORT_FORMATS[type], find })
      const { answer, indexed } = await find(app.database, search)
      // A later channel can tell another name of a Filecoin account.
      const isSettled = moment.isSettled && !search.filters.account?.some((name) => name.startsWith('f'))
      return await sendAnswer(request, reply, { ...taggedAnswer(answer), indexed, isSettled })
    } catch (error) {
      if (!(error instanceof TooManyLoans)) throw error
      return sendError(reply, 400, `asOf is not answered for these accounts: they have ${error.message}`)
    }
  }
}

function toSearch(query: z.output<typeof searchQuery>, usualLimit: number): ActivitySearch {
  const { before, after, from, to, limit = usualLimit, ...filters } = query
  return { before, after, from, to, limit, filters }
}

function hasSeveralChains({ blockchain = [], networkId = [] }: ActivityFilters): boolean {
  return blockchain.length > 1 || networkId.length > 1
}
