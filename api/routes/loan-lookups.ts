import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { sendError } from '../plugins/errors.ts'
import type { AnswerCache } from '../queries/answer-cache.ts'
import { findLoan } from '../queries/loans.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { responses } from '../schemas/common.ts'
import { erc20LoanAnswer, filLoanAnswer } from '../schemas/loan.ts'
import { noParameters } from './no-parameters.ts'
import { sendAnswer } from './send-answer.ts'

/** The contract's id, with its deployment's prefix if that has one; a uint256 has at most 78 digits. */
const LOAN_ID = /^(?:[A-Za-z][A-Za-z0-9]{0,15}-)?\d{1,78}$/

const TOO_LONG = /^(?:[A-Za-z][A-Za-z0-9]{0,15}-)?\d{79,}$/

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
  app.get<{ Params: { loanId: string } }>(
    url,
    { schema, onRequest: noParameters },
    async (request, reply) => {
      const { loanId } = request.params
      if (!LOAN_ID.test(loanId)) return sendError(reply, 400, whatIsWrongWith(loanId))
      const found = await cache.answer(`${loanType}/${loanId}`, () => findLoan(database, loanType, loanId))
      if (found === undefined) return sendError(reply, 404, `there is no ${loanType} loan ${loanId}`)
      return sendAnswer(request, reply, found)
    },
  )
}

function whatIsWrongWith(loanId: string): string {
  return TOO_LONG.test(loanId)
    ? 'loanId is too long: its number has at most 78 digits'
    : 'loanId must be a decimal number, or <prefix>-<decimal number>'
}
