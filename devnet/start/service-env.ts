import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Node's parser of such files knows no escape: a value ends at the next mark equal to its first. */
const QUOTES = ["'", '`', '"']

/**
 * Writes the parts' addresses for `npm run ops` beside a running `npm start`: a file of variables in DATA_DIR, readable
 * by its owner alone. Returns a function that removes it.
 */
export function writeServiceEnv(dataDir: string, variables: Record<string, string>): () => void {
  const file = join(dataDir, 'service.env')
  const lines = Object.entries(variables).flatMap(([name, value]) => {
    const quote = QUOTES.find((mark) => !value.includes(mark))
    return quote === undefined ? [] : [`${name}=${quote}${value}${quote}\n`]
  })
  // A mode applies only to a new file, so an existing one is removed first.
  rmSync(file, { force: true })
  writeFileSync(file, lines.join(''), { mode: 0o600, flag: 'wx' })
  return () => rmSync(file, { force: true })
}
