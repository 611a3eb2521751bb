import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import type * as z from 'zod'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { nextOf } from '../loan-life/next.ts'
import { shownVouchers } from '../loan-life/vouchers.ts'
import { sendError } from '../plugins/errors.ts'
import type { ZodTypes } from '../plugins/schemas.ts'
import { taggedAnswer } from '../queries/answer-cache.ts'
import { findLoanLife, type FoundLife } from '../queries/loan-life.ts'
import { responses } from '../schemas/common.ts'
import { nextAnswer, vouchersAnswer } from '../schemas/loan-next.ts'
import { loanParams, noQuery } from '../schemas/parameters.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

const MARKETS: Record<'ERC20' | 'FIL', LoanType> = { ERC20: 'ERC20FIL', FIL: 'FILERC20' }

/** Serves what the parties of a loan can do next, and the vouchers that they hold. */
export const loanNext: FastifyPluginCallback = (app, _options, done) => {
  for (const [market, loanType] of Object.entries(MARKETS)) {
    const name = market === 'ERC20' ? 'Erc20' : 'Fil'
    serve(app, {
      ...{ url: `/api/loan/${market}/:loanId/next`, loanType, schema: nextAnswer },
      operationId: `get${name}LoanNext`,
      summary: 'The next actions of the parties of a loan',
      answer: ({ life }) => ({ status: 'OK' as const, payload: nextOf(life) }),
    })
    serve(app, {
      ...{ url: `/api/loan/${market}/:loanId/vouchers`, loanType, schema: vouchersAnswer },
      operationId: `get${name}LoanVouchers`,
      summary: 'The vouchers of a loan',
      answer: ({ life, vouchersLeftOut }) => {
        const { vouchers, total } = shownVouchers(life)
        return { status: 'OK' as const, payload: vouchers, total: total + vouchersLeftOut }
      },
    })
  }
  done()
}

interface Served<Schema extends z.ZodType> {
  url: string
  loanType: LoanType
  schema: Schema
  operationId: string
  summary: string
  answer: (found: FoundLife) => z.input<Schema>
}

/** These answers depend on the last indexed blocks, so they are never kept: each costs one statement. */
function serve<Schema extends z.ZodType>(app: FastifyInstance, served: Served<Schema>): void {
  const { url, loanType, schema, operationId, summary, answer } = served
  app.withTypeProvider<ZodTypes>().route({
    method: READ,
    url,
    schema: {
      ...{ tags: ['Loans'], operationId, summary },
      params: loanParams,
      querystring: noQuery,
      response: responses(schema, 304, 400, 404),
    },
    handler: async (request, reply) => {
      const { loanId } = request.params
      const found = await findLoanLife(app.database, loanType, loanId)
      if (found === undefined) return sendError(reply, 404, `there is no ${loanType} loan ${loanId}`)
      return sendAnswer(request, reply, taggedAnswer(JSON.stringify(answer(found)), found.indexed))
    },
  })
}
