/**
 * (pure) A parameter as node-postgres is to have it: lists of texts as Postgres writes arrays (its manual, Arrays, "Array
 * Input and Output Syntax"), all else as it is. What node-postgres makes of a list is the same, but it goes over each text
 * with two expressions, and lists of keys are long.
 */
export function arraysAsText(parameter: unknown): unknown {
  if (!Array.isArray(parameter) || !parameter.every(isText)) return parameter
  return parameter.length === 0 ? '{}' : `{"${parameter.map(escaped).join('","')}"}`
}

function isText(item: unknown): item is string {
  return typeof item === 'string'
}

function escaped(text: string): string {
  return text.includes('"') || text.includes('\\') ? text.replaceAll(/["\\]/g, '\\$&') : text
}
