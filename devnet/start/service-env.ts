import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Node's reader of such files knows no escape: a value ends at the next mark like the one before it. */
const QUOTES = ["'", '`', '"']

/**
 * Where the parts are, for `npm run ops` beside a running `npm start`: a file of variables in DATA_DIR, for its owner
 * alone. Returns how to remove it.
 */
export function writeServiceEnv(dataDir: string, variables: Record<string, string>): () => void {
  const file = join(dataDir, 'service.env')
  const lines = Object.entries(variables).flatMap(([name, value]) => {
    const quote = QUOTES.find((mark) => !value.includes(mark))
    return quote === undefined ? [] : [`${name}=${quote}${value}${quote}\n`]
  })
  // A mode is given to a file that is made, and not to one that is there.
  rmSync(file, { force: true })
  writeFileSync(file, lines.join(''), { mode: 0o600, flag: 'wx' })
  return () => rmSync(file, { force: true })
}
