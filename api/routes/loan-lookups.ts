import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { lookupJson } from '../loan-past/answers.ts'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { taggedAnswer } from '../queries/answer-cache.ts'
import { findMoment } from '../queries/as-of.ts'
import { findLoan } from '../queries/loans.ts'
import { findPastLoan, TooManyEntries } from '../queries/loans-past.ts'
import { responses } from '../schemas/common.ts'
import { erc20LoanAnswer, filLoanAnswer, lookupQuery } from '../schemas/loan.ts'
import { loanParams } from '../schemas/parameters.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves a loan with all its events, by market. */
export const loanLookups: FastifyPluginCallback = (app, _options, done) => {
  lookup(app, 'ERC20', 'ERC20FIL', erc20LoanAnswer)
  lookup(app, 'FIL', 'FILERC20', filLoanAnswer)
  done()
}

function lookup(app: FastifyInstance, market: 'ERC20' | 'FIL', loanType: LoanType, answer: z.ZodType): void {
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url: `/api/loan/${market}/:loanId`,
    schema: {
      tags: ['Loans'],
      operationId: market === 'ERC20' ? 'getErc20Loan' : 'getFilLoan',
      summary: market === 'ERC20' ? 'A loan of tokens against FIL' : 'A loan of FIL against tokens',
      params: loanParams,
      querystring: lookupQuery,
      response: responses(answer, 304, 400, 404),
    },
    handler: async (request, reply) => {
      const { loanId } = request.params
      const { asOf, explain } = request.query
      if (asOf !== undefined || explain !== undefined)
        return sendPast(app, request, reply, { loanType, loanId }, request.query)
      const found = await app.answers.answer(`${loanType}/${loanId}`, () =>
        findLoan(app.database, loanType, loanId),
      )
      if (found === undefined) return sendError(reply, 404, `there is no ${loanType} loan ${loanId}`)
      return sendAnswer(request, reply, found)
    },
  })
}

/** Answers from the log: as of a moment, or with the records that set each field. */
async function sendPast(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  loan: { loanType: LoanType; loanId: string },
  { asOf, explain }: z.output<typeof lookupQuery>,
): Promise<FastifyReply> {
  const moment = await findMoment(app.database, asOf)
  if ('code' in moment) return sendError(reply, moment.code, moment.message)
  try {
    const found = await findPastLoan(app.database, loan, moment.position)
    if (found === undefined) {
      const name = `${loan.loanType} loan ${loan.loanId}`
      return await sendError(
        reply,
        404,
        asOf === undefined ? `there is no ${name}` : `there was no ${name} then`,
      )
    }
    const answer = taggedAnswer(lookupJson(found, explain !== undefined))
    // The answer lacks entries that were written since the moment was found.
    const most = asOf === undefined ? moment.position : Infinity
    const { indexed } = found
    return await sendAnswer(request, reply, {
      ...answer,
      indexed: indexed && { ...indexed, position: Math.min(indexed.position, most) },
      isSettled: moment.isSettled,
    })
  } catch (error) {
    if (!(error instanceof TooManyEntries)) throw error
    return sendError(reply, 400, `asOf and explain are not answered for this loan: it has ${error.message}`)
  }
}
