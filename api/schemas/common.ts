import * as z from 'zod'

export const errorAnswer = z.strictObject({ status: z.literal('ERROR'), message: z.string().min(1) })

/** The format of `Date.prototype.toISOString`. */
export const isoTime = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

const ERRORS = {
  400: 'a parameter is malformed',
  404: 'there is no such thing',
  405: 'another method than GET',
  429: 'too many requests',
  500: 'an internal error',
  503: 'the database is away',
} as const

/** Builds a route's `schema.response`: its answer with 200, and the error envelope for the given codes. */
export function responses(ok: z.ZodType, ...errors: (keyof typeof ERRORS)[]): Record<string, unknown> {
  const failures = errors.map((code) => [code, { description: ERRORS[code], ...jsonSchema(errorAnswer) }])
  return Object.fromEntries([[200, jsonSchema(ok)], ...failures]) as Record<string, unknown>
}

function jsonSchema(schema: z.ZodType): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { target: 'draft-7' })
  return rest
}
