import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { accountJson, ordersJson } from '../loan-past/answers.ts'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { taggedAnswer, type Found } from '../queries/answer-cache.ts'
import { findMoment } from '../queries/as-of.ts'
import { findLoansOfAccount, findOrders, type LoanPage } from '../queries/loan-lists.ts'
import { findPastPage, type PastPage } from '../queries/loans-past.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import type { AsOf } from '../schemas/as-of.ts'
import { responses } from '../schemas/common.ts'
import {
  accountLoans,
  accountParams,
  borrowOrders,
  lendOrders,
  loanPageQuery,
  orderParams,
} from '../schemas/loan-lists.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves lists of loans: requests and offers by their state, and an account's loans. */
export const loanLists: FastifyPluginCallback = (app, _options, done) => {
  orders(app, { side: 'borrow', loanType: 'FILERC20', answer: borrowOrders })
  orders(app, { side: 'lend', loanType: 'ERC20FIL', answer: lendOrders })
  const sendPage = sendPageOf(app, findLoansOfAccount, accountJson)
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/loans/account/:account',
    schema: {
      tags: ['Loans'],
      operationId: 'getLoansOfAccount',
      summary: 'Loans that an account borrows or lends',
      params: accountParams,
      querystring: loanPageQuery,
      response: responses(accountLoans, 304, 400, 404),
    },
    handler: (request, reply) =>
      sendPage(request, reply, { lists: [request.params.account], ...request.query }),
  })
  done()
}

function orders(
  app: FastifyInstance,
  { side, loanType, answer }: { side: 'borrow' | 'lend'; loanType: LoanType; answer: z.ZodType },
): void {
  const sendPage = sendPageOf(app, findOrders, ordersJson)
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: `/api/orders/${side}/:state`,
    schema: {
      tags: ['Loans'],
      operationId: side === 'borrow' ? 'getBorrowOrders' : 'getLendOrders',
      summary:
        side === 'borrow' ? 'Requests to borrow FIL by their state' : 'Offers to lend tokens by their state',
      params: orderParams(loanType),
      querystring: loanPageQuery,
      response: responses(answer, 304, 400, 404),
    },
    handler: (request, reply) => sendPage(request, reply, { lists: request.params.state, ...request.query }),
  })
}

type Page = LoanPage & { asOf?: AsOf | undefined }
type Send = (request: FastifyRequest, reply: FastifyReply, page: Page) => Promise<FastifyReply>

function sendPageOf(
  app: FastifyInstance,
  find: (database: ReadDatabase, page: LoanPage) => Promise<Found>,
  pastJson: (page: PastPage) => string,
): Send {
  return async (request, reply, { asOf, ...page }) => {
    if (asOf !== undefined) {
      const moment = await findMoment(app.database, asOf)
      if ('code' in moment) return sendError(reply, moment.code, moment.message)
      const found = await findPastPage(app.database, page, moment.position)
      const { indexed } = found
      // A later channel can tell another name of a Filecoin account.
      const isSettled = moment.isSettled && !page.lists.some((list) => list.startsWith('f'))
      return sendAnswer(request, reply, { ...taggedAnswer(pastJson(found)), indexed, isSettled })
    }
    const question = `${find.name}/${JSON.stringify([page.lists, page.before ?? null, page.limit])}`
    const answer = await app.answers.answer(question, () => find(app.database, page))
    if (answer === undefined) throw new Error('a list is never missing')
    return sendAnswer(request, reply, answer)
  }
}
