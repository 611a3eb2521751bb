import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

/** What a running `npm start` tells operators' commands, as Node reads such a file. */
export function parseServiceEnv(dataDir: string): Record<string, string | undefined> {
  return parseEnv(readFileSync(join(dataDir, 'service.env'), 'utf8'))
}
