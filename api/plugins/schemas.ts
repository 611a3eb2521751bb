import type { FastifyTypeProvider } from 'fastify'
import fp from 'fastify-plugin'
import type * as z from 'zod'
import { firstMistake } from '../schemas/parameters.ts'

/** Gives handlers parameters in the types of their route's parsed schemas. */
export interface ZodTypes extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
}

/** Parses a route's parameters with its zod schemas. A mistake is refused with 400 and the schema's message. */
export const schemas = fp(
  (app, _options, done) => {
    app.setValidatorCompiler<z.ZodType>(({ schema }) => (data: unknown) => {
      const parsed = schema.safeParse(data)
      return parsed.success ? { value: parsed.data } : { error: new Error(firstMistake(parsed.error)) }
    })
    done()
  },
  { name: 'schemas' },
)
