import { Kysely, PostgresDialect, type Compilable } from 'kysely'
import type { Tables } from '../../shared/db/schema.ts'
import type { Statement } from './read-database.ts'

/** Writes statements and runs none: a {@link ReadDatabase} prepares them under their names. */
export const builder = new Kysely<Tables>({
  dialect: new PostgresDialect({ pool: () => Promise.reject(new Error('the builder has no connection')) }),
})

export function toStatement(name: string, query: Compilable): Statement {
  return { name, text: query.compile().sql }
}
