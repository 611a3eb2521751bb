import pg from 'pg'

/** The `types` of a connection that parses JSON with `parse`, and everything else as node-postgres does. */
export function jsonParsedBy(parse: (text: string) => unknown): pg.CustomTypesConfig {
  const types = new pg.TypeOverrides()
  types.setTypeParser(pg.types.builtins.JSON, 'text', parse)
  types.setTypeParser(pg.types.builtins.JSONB, 'text', parse)
  return types
}
