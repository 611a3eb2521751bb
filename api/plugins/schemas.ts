import type { FastifyTypeProvider } from 'fastify'
import fp from 'fastify-plugin'
import type * as z from 'zod'
import { firstMistake } from '../schemas/parameters.ts'

/** Handlers get parameters in the types that their route's schemas parse them into. */
export interface ZodTypes extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
}

/** Parses the parameters of a route by its zod schemas. A mistake is refused with 400 and the schema's own words. */
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
