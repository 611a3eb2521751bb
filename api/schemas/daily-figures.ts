import * as z from 'zod'
import { loanType, several } from './activity.ts'

/** Days of an answer when `from` is not given. */
const USUAL_DAYS = 30
const DAY_MS = 24 * 60 * 60 * 1000

const day = (name: string, description: string) =>
  z
    .string()
    .refine(
      (text) => z.iso.date().safeParse(text).success && text >= '1970',
      `${name} must be a day from 1970-01-01 on, such as 2026-11-21`,
    )
    .meta({ description, examples: ['2026-11-21'] })
    .optional()

export const dailyQuery = z
  .strictObject({
    from: day('from', `The first day (UTC); the ${USUAL_DAYS} days up to \`to\` when omitted`),
    to: day('to', 'The last day (UTC), included; today when omitted'),
    loanType: several('loanType', loanType, { description: 'Markets', example: 'ERC20FIL' }),
  })
  .transform(({ from, to, loanType: loanTypes = null }) => {
    const last = to ?? dayOf(Date.now())
    return {
      from: from ?? dayOf(Math.max(0, Date.parse(last) - (USUAL_DAYS - 1) * DAY_MS)),
      to: last,
      loanTypes,
    }
  })
  .refine(({ from, to }) => from <= to, 'from must not be later than to')

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

const count = (description: string) => z.int().min(0).meta({ description })
const dayText = z.string().regex(/^\d{4}-\d\d-\d\d$/)

const FIGURES = {
  ...{ day: '2026-11-21', loanType: 'ERC20FIL', networkId: '31337' },
  ...{ token: '0x5FbDB2315678afecb367f032d93F642f64180aa3', symbol: 'TST', decimals: 18 },
  ...{ opened: 12, closed: 7, seized: 1, cancelled: 2, principal: '120345.75', open: 41 },
} as const

const dailyFigures = z
  .strictObject({
    day: dayText.meta({ description: "UTC, by the clock of the event's chain" }),
    loanType,
    networkId: z.string().meta({ description: 'EVM chain id in decimal' }),
    token: z.string().meta({ description: 'The token that is lent, or that secures a loan of FIL; EIP-55' }),
    symbol: z.string().nullable().meta({ description: "The token's, as in loanAssets" }),
    decimals: z.int().nullable().meta({ description: "The token's, as in loanAssets" }),
    opened: count('Offers or requests made'),
    closed: count('Loans repaid, with the payback accepted or refunded'),
    seized: count('Loans whose collateral was seized'),
    cancelled: count('Offers or requests cancelled'),
    principal: z.string().nullable().meta({
      description:
        'The principal of the loans opened: whole tokens for ERC20FIL, whole FIL for FILERC20; null where an amount is not known',
    }),
    open: z.int().meta({ description: 'Loans that are open at the end of the day' }),
  })
  .meta({ id: 'DailyFigures', description: "One day of one market's token", examples: [FIGURES] })

export const dailyAnswer = z
  .strictObject({
    status: z.literal('OK'),
    payload: z.array(dailyFigures).max(2_000).meta({ description: 'The first day first' }),
    next: dayText
      .nullable()
      .meta({ description: 'The `from` of the following answer; null where this one has all' }),
  })
  .meta({
    id: 'DailyAnswer',
    description: 'Days on which no loan of a token was opened or ended are left out',
    examples: [{ status: 'OK', payload: [FIGURES], next: null }],
  })
