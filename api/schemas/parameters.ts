import * as z from 'zod'

/** Parameters that several routes take. Each mistake has one wording, whatever route it is made in. */

/** The contract's number, with its deployment's prefix if that has one; a uint256 has at most 78 digits. */
const LOAN_ID = /^(?:[A-Za-z][A-Za-z0-9]{0,15}-)?\d{1,78}$/
const TOO_LONG = /^(?:[A-Za-z][A-Za-z0-9]{0,15}-)?\d{79,}$/
const PAGE = /^[1-9]\d*$/
/** A name that a message quotes may be as long as a URL. */
const MAX_QUOTED = 100

/** Names a loan in its market. */
export const loanId = z.string().superRefine((text, context) => {
  if (LOAN_ID.test(text)) return
  const message = TOO_LONG.test(text)
    ? 'loanId is too long: its number has at most 78 digits'
    : 'loanId must be a decimal number, or <prefix>-<decimal number>'
  context.addIssue({ code: 'custom', message })
})

export const loanParams = z.object({ loanId })

/** A page counts from 1; the first one when there is none. */
export const pageParams = z.object({
  page: z
    .string()
    .optional()
    .transform((text) => text || '1')
    .pipe(z.string().regex(PAGE, 'page must be a positive integer'))
    .transform(BigInt),
})

/** For a route without parameters: ignoring one would answer another question than was asked. */
export const noQuery = z.strictObject({})

/** For a value of a closed set that is none of its known ones. */
export function notOneOf(name: string, known: readonly string[]): string {
  return `${name} must be one of ${known.join(', ')}`
}

/** The first mistake, in one line. The schemas' messages are whole sentences. */
export function firstMistake(error: z.ZodError): string {
  const [issue] = error.issues
  if (issue === undefined) return 'the query is malformed'
  if (issue.code === 'unrecognized_keys') return unknownParameter(issue.keys[0] ?? '')
  // Only a parameter that is given several times is no text.
  if (issue.code === 'invalid_type') return `${issue.path.join('.')} must be given once`
  return issue.message
}

function unknownParameter(name: string): string {
  return `there is no parameter "${name.slice(0, MAX_QUOTED)}" here`
}
