import { existsSync, readFileSync } from 'node:fs'

/** Reads the package's version. Compiled files lie one folder deeper than their sources. */
export function packageVersion(): string {
  const file = ['../package.json', '../../package.json']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url))
  if (file === undefined) return 'unknown'
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown }
  return typeof version === 'string' ? version : 'unknown'
}
