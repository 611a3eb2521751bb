import { sql, type RawBuilder } from 'kysely'

/**
 * The network of rows that an index by something else finds: no index by networks can answer to it. A planner whose
 * statistics do not know a network yet takes it for one without rows, and would sooner walk all of them.
 */
export function ofNetwork(column: string): RawBuilder<string> {
  return sql`(${sql.ref(column)} || '')`
}
