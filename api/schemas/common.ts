import * as z from 'zod'

/**
 * Schemas with an `id` in their metadata are components of the OpenAPI document. Their examples are the document's
 * examples.
 */

export const errorAnswer = z
  .strictObject({
    status: z.literal('ERROR'),
    message: z.string().min(1).meta({ description: 'One sentence; never the inside of the service' }),
  })
  .meta({ id: 'ErrorAnswer', description: 'Every failure', examples: [] })

/** The format of `Date.prototype.toISOString`. */
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
export const isoTime = z.string().regex(ISO_TIME)

const [FIRST_MS, LAST_MS] = [0, Date.UTC(9999, 11, 31, 23, 59, 59, 999)]

/** Writes milliseconds since 1970 in that format. Postgres reads no year 0 or 10000; no record is of such a year. */
export function storableTime(ms: number): string {
  return new Date(Math.min(Math.max(ms, FIRST_MS), LAST_MS)).toISOString()
}

export const isDay = (text: string): boolean => z.iso.date().safeParse(text).success

export const createdAt = isoTime.meta({
  description: 'When the index first held it (UTC), not when it was on the chain',
  examples: ['2026-11-21T17:47:31.999Z'],
})
export const updatedAt = isoTime.meta({
  description: 'When the index last changed it (UTC)',
  examples: ['2026-11-21T17:47:58.626Z'],
})

const ERRORS = {
  400: [
    'A parameter is malformed or unknown',
    'loanId must be a decimal number, or <prefix>-<decimal number>',
  ],
  404: ['There is no such thing', 'there is no ERC20FIL loan 7'],
  429: [
    'Too many requests of this client',
    'too many requests: at most 6000 in 60 s, try again in 12 seconds',
  ],
  500: ['A fault of the service', 'internal error'],
  503: ['The database is away, or the API is overloaded', 'the database is away: try again'],
} as const

const UNCHANGED = { description: 'The client has this answer already (`If-None-Match`)', type: 'null' }

/**
 * Builds a route's `schema.response`: its answer with 200, and the error envelope for the given codes and for those
 * that every route can give.
 */
export function responses(ok: z.ZodType, ...codes: (304 | 400 | 404)[]): Record<string, unknown> {
  return { 200: response(ok), ...otherResponses(...codes) }
}

/** The same without the answer itself. */
export function otherResponses(...codes: (304 | 400 | 404)[]): Record<string, unknown> {
  const failures = [...codes.filter((code) => code !== 304), 429, 500, 503] as const
  return Object.fromEntries([
    ...(codes.includes(304) ? [[304, UNCHANGED]] : []),
    ...failures.map((code) => {
      const [description, message] = ERRORS[code]
      return [code, response(errorAnswer, { description, example: { status: 'ERROR', message } })]
    }),
  ]) as Record<string, unknown>
}

/** An answer of a component's shape. */
export function response(
  schema: z.ZodType,
  said: { description?: string; example?: unknown } = {},
): Record<string, unknown> {
  const { id, description = '', examples } = schema.meta() ?? {}
  if (id === undefined) throw new Error('an answer needs the name of its component')
  const [example] = examples as unknown[]
  return {
    description: said.description ?? description,
    content: { 'application/json': { schema: { $ref: `${id}#` }, example: said.example ?? example } },
  }
}

/** A JSON schema for each component, with its `$id`. */
export function componentSchemas(): object[] {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { target: 'draft-7', uri: (id) => `${id}#` })
  return Object.entries(schemas).map(([id, { $schema: _dialect, examples: _shown, ...schema }]) => ({
    ...schema,
    $id: id,
  }))
}

/** The JSON schema of a route's parameters as a client sends them. */
export function parameterSchema(schema: unknown): unknown {
  if (!(schema instanceof z.ZodType)) return schema
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    // Zod leaves out the examples of values that it transforms, for they may be of the output.
    override: ({ zodSchema, jsonSchema }) => {
      const examples = z.globalRegistry.get(zodSchema)?.['examples']
      if (examples !== undefined) jsonSchema.examples = examples as unknown[]
    },
  })
  return rest
}
