import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { sendError } from '../plugins/errors.ts'
import type { AnswerCache } from '../queries/answer-cache.ts'
import { findLoan } from '../queries/loans.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { responses } from '../schemas/common.ts'
import { erc20LoanAnswer, filLoanAnswer } from '../schemas/loan.ts'
import { mistakeInLoanId } from '../schemas/parameters.ts'
import { noParameters } from './no-parameters.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** A loan with everything that happened to it, by market. */
export function loanLookups(app: FastifyInstance, database: ReadDatabase, cache: AnswerCache): void {
  lookup(app, { database, cache }, '/api/loan/ERC20/:loanId', 'ERC20FIL', erc20LoanAnswer)
  lookup(app, { database, cache }, '/api/loan/FIL/:loanId', 'FILERC20', filLoanAnswer)
}

function lookup(
  app: FastifyInstance,
  { database, cache }: { database: ReadDatabase; cache: AnswerCache },
  url: string,
  loanType: LoanType,
  answer: z.ZodType,
): void {
  const schema = { response: responses(answer, 400, 404, 405, 500, 503) }
  app.route<{ Params: { loanId: string } }>({
    method: READ,
    url,
    schema,
    onRequest: noParameters,
    handler: async (request, reply) => {
      const { loanId } = request.params
      const mistake = mistakeInLoanId(loanId)
      if (mistake !== null) return sendError(reply, 400, mistake)
      const found = await cache.answer(`${loanType}/${loanId}`, () => findLoan(database, loanType, loanId))
      if (found === undefined) return sendError(reply, 404, `there is no ${loanType} loan ${loanId}`)
      return sendAnswer(request, reply, found)
    },
  })
}
