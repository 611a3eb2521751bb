import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import type * as z from 'zod'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { findLoan } from '../queries/loans.ts'
import { responses } from '../schemas/common.ts'
import { erc20LoanAnswer, filLoanAnswer } from '../schemas/loan.ts'
import { loanParams, noQuery } from '../schemas/parameters.ts'
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
      querystring: noQuery,
      response: responses(answer, 304, 400, 404),
    },
    handler: async (request, reply) => {
      const { loanId } = request.params
      const found = await app.answers.answer(`${loanType}/${loanId}`, () =>
        findLoan(app.database, loanType, loanId),
      )
      if (found === undefined) return sendError(reply, 404, `there is no ${loanType} loan ${loanId}`)
      return sendAnswer(request, reply, found)
    },
  })
}
