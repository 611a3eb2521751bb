import { sql, type RawBuilder } from 'kysely'

/**
 * The network of rows that another index finds. The concatenation keeps the planner from an index by networks: it takes a network
 * that its statistics do not know for one without rows, and would scan all rows of that network.
 */
export function ofNetwork(column: string): RawBuilder<string> {
  return sql`(${sql.ref(column)} || '')`
}
