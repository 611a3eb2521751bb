import { sql, type RawBuilder } from 'kysely'

/**
 * The network of rows that another index finds. The concatenation keeps the planner from an index by network. It
 * assumes that a network missing from its statistics has no rows, and would scan them all.
 */
export function ofNetwork(column: string): RawBuilder<string> {
  return sql`(${sql.ref(column)} || '')`
}
