import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Where the embedded parts are, for `npm run ops` beside a running `npm start`: a file of variables in DATA_DIR, for
 * its owner alone. It holds nothing that was configured, for that is in the operator's environment already.
 */
export function writeServiceEnv(dataDir: string, embedded: Record<string, string>): () => void {
  const file = join(dataDir, 'service.env')
  const lines = Object.entries(embedded).map(([name, value]) => `${name}=${JSON.stringify(value)}\n`)
  writeFileSync(file, lines.join(''), { mode: 0o600 })
  return () => rmSync(file, { force: true })
}
