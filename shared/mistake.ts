import type * as z from 'zod'

/** The place at which a value differs from its schema, and the value wanted there: "must be text, not a number". */
export interface Mistake {
  /** Keys and indices with dots between; empty for the value itself. */
  path: string
  message: string
}

export type Validated<T> = { ok: true; value: T } | { ok: false; mistake: Mistake }

/** Path characters that a message shows. */
const MAX_PATH = 100

/** Validates a value from outside. A mistake is told in our words, never in the validator's. Never throws. */
export function validate<T extends z.ZodType>(schema: T, value: unknown): Validated<z.output<T>> {
  const parsed = schema.safeParse(value, { error: describeIssue })
  if (parsed.success) return { ok: true, value: parsed.data }
  const { issues } = parsed.error
  const [issue] = issues
  const path = pathOf(issue)
  // A misspelt key is a missing one as well.
  const misspelt = issues.find(({ code }) => code === 'unrecognized_keys')
  const more =
    misspelt === undefined || misspelt === issue ? '' : `; ${pathOf(misspelt) || 'it'} ${misspelt.message}`
  return { ok: false, mistake: { path, message: (issue?.message ?? MALFORMED) + more } }
}

function pathOf(issue: z.core.$ZodIssue | undefined): string {
  return (issue?.path ?? []).map(String).join('.').slice(0, MAX_PATH)
}

const MALFORMED = 'is malformed'

/** Says what an issue wants if its schema has no message of its own. */
function describeIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is missing'
      if (issue.expected === 'int') return 'must be a whole number'
      return `must be ${nameOf(issue.expected)}, not ${kindOf(issue.input)}`
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
    case 'unrecognized_keys':
      return describeUnknownKey(issue.keys[0] ?? '')
    case 'too_small':
      if (Number(issue.minimum) === 1 && issue.origin !== 'number') return 'must not be empty'
      return `must ${measureOf(issue.origin, issue.exact === true ? '' : 'at least ', issue.minimum)}`
    case 'too_big':
      return `must ${measureOf(issue.origin, issue.exact === true ? '' : 'at most ', issue.maximum)}`
    // Schemas give these messages of their own.
    case 'invalid_format':
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'custom':
    default:
      return MALFORMED
  }
}

/** A message quotes only such keys: others may hold a token or a line break. */
export const PLAIN_KEY = /^[A-Za-z][A-Za-z0-9]{0,31}$/

function describeUnknownKey(key: string): string {
  return PLAIN_KEY.test(key) ? `has the unknown key "${key}"` : 'has a key that is none of those known'
}

const TYPE_NAMES: Record<string, string> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

function nameOf(type: string): string {
  return TYPE_NAMES[type] ?? type
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'boolean') return String(value)
  return nameOf(Array.isArray(value) ? 'array' : typeof value)
}

function measureOf(origin: string, comparison: string, bound: number | bigint): string {
  if (origin === 'string') return `have ${comparison}${bound} characters`
  if (origin === 'array') return `have ${comparison}${bound} items`
  return `be ${comparison}${bound}`
}
