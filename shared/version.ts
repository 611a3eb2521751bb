import { existsSync, readFileSync } from 'node:fs'

/** Folders above this file that may hold package.json: compiled programs lie one or two folders deeper than sources. */
const ABOVE = ['../package.json', '../../package.json', '../../../package.json']

/** Reads the package's version. */
export function packageVersion(): string {
  const file = ABOVE.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url))
  if (file === undefined) return 'unknown'
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown }
  return typeof version === 'string' ? version : 'unknown'
}
