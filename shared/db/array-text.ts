/**
 * (pure) A parameter as node-postgres is to have it: lists of texts as Postgres writes arrays (its manual, Arrays, "Array
 * Input and Output Syntax"), all else as it is. What node-postgres makes of a list is the same, but it goes over each text
 * with two expressions, and lists of keys are long.
 */
export function arraysAsText(parameter: unknown): unknown {
  if (!Array.isArray(parameter)) return parameter
  let text = ''
  for (const item of parameter as readonly unknown[]) {
    if (typeof item !== 'string') return parameter
    text += text === '' ? '{"' : '","'
    text += item.includes('"') || item.includes('\\') ? item.replaceAll(/["\\]/g, '\\$&') : item
  }
  return text === '' ? '{}' : `${text}"}`
}
