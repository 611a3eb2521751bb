import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { LoanType } from '../../shared/events/chain-event.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import type { Found } from '../queries/answer-cache.ts'
import { findLoansOfAccount, findOrders, type LoanPage } from '../queries/loan-lists.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
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
  const sendPage = sendPageOf(app, findLoansOfAccount)
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: '/api/loans/account/:account',
    schema: {
      tags: ['Loans'],
      operationId: 'getLoansOfAccount',
      summary: 'Loans that an account borrows or lends',
      params: accountParams,
      querystring: loanPageQuery,
      response: responses(accountLoans, 304, 400),
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
  const sendPage = sendPageOf(app, findOrders)
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
      response: responses(answer, 304, 400),
    },
    handler: (request, reply) => sendPage(request, reply, { lists: request.params.state, ...request.query }),
  })
}

type Send = (request: FastifyRequest, reply: FastifyReply, page: LoanPage) => Promise<FastifyReply>

function sendPageOf(
  app: FastifyInstance,
  find: (database: ReadDatabase, page: LoanPage) => Promise<Found>,
): Send {
  return async (request, reply, page) => {
    const question = `${find.name}/${JSON.stringify([page.lists, page.before ?? null, page.limit])}`
    const answer = await app.answers.answer(question, () => find(app.database, page))
    if (answer === undefined) throw new Error('a list is never missing')
    return sendAnswer(request, reply, answer)
  }
}
