import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

/** Parses the variables that a running `npm start` writes for operators' commands, like Node. */
export function parseServiceEnv(dataDir: string): Record<string, string | undefined> {
  return parseEnv(readFileSync(join(dataDir, 'service.env'), 'utf8'))
}
