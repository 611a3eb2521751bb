import * as z from 'zod'

/** Parameters that several routes share. Each mistake has one wording on every route. */

/** The contract's number, with its deployment's prefix if there is one; a uint256 has at most 78 digits. */
const LOAN_ID = /^(?:[A-Za-z][A-Za-z0-9]{0,15}-)?\d{1,78}$/
const TOO_LONG = /^(?:[A-Za-z][A-Za-z0-9]{0,15}-)?\d{79,}$/
const PAGE = /^[1-9]\d*$/
/** A message may quote a name as long as a URL, so quotes are cut. */
const MAX_QUOTED = 100

/** Names a loan within its market. */
export const loanId = z.string().superRefine((text, context) => {
  if (LOAN_ID.test(text)) return
  const message = TOO_LONG.test(text)
    ? 'loanId is too long: its number has at most 78 digits'
    : 'loanId must be a decimal number, or <prefix>-<decimal number>'
  context.addIssue({ code: 'custom', message })
})

export const loanParams = z.object({
  loanId: loanId.meta({
    description: "The contract's number, with its deployment's prefix if there is one",
    examples: ['1'],
  }),
})

/** Pages count from 1. */
export const pageParams = z.object({
  page: z
    .string()
    .regex(PAGE, 'page must be a positive integer')
    .meta({ description: 'A positive integer', examples: ['1'] })
    .transform(BigInt),
})

/** Refuses any parameter, because ignoring one would answer a different question. */
export const noQuery = z.strictObject({})

/** Message for an unknown value of a closed set. */
export function notOneOf(name: string, known: readonly string[]): string {
  return `${name} must be one of ${known.join(', ')}`
}

/** Returns the first mistake in one line. The schemas' messages are whole sentences. */
export function firstMistake(error: z.ZodError): string {
  const [issue] = error.issues
  if (issue === undefined) return 'the query is malformed'
  if (issue.code === 'unrecognized_keys') return unknownParameter(issue.keys[0] ?? '')
  // Only a repeated parameter is not a string.
  if (issue.code === 'invalid_type') return `${issue.path.join('.')} must be given once`
  return issue.message
}

function unknownParameter(name: string): string {
  return `there is no parameter "${name.slice(0, MAX_QUOTED)}" here`
}
