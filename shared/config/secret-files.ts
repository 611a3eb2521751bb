import { readFileSync } from 'node:fs'
import { ConfigError } from '../errors.ts'

/** Variables that contain secrets, as Docker, Kubernetes and systemd mount them in files. */

export type EnvironmentSource = Record<string, string | undefined>

/** A secret in a file is short; a larger file is another one. */
const MAX_CHARACTERS = 64 * 1024

/**
 * The variable `name`, or the content of the file that `<name>_FILE` names, without its trailing newline. An empty
 * variable counts as unset. Throws a one-line ConfigError that shows neither content nor path.
 */
export function secretOf(source: EnvironmentSource, name: string): string | undefined {
  const value = ownValue(source, name)
  const file = ownValue(source, `${name}_FILE`)
  if (file === undefined) return value
  if (value !== undefined) throw new ConfigError(`${name} and ${name}_FILE are both set: unset one of them`)
  const text = readText(`${name}_FILE`, file).replace(/\r?\n$/, '')
  if (text === '') throw new ConfigError(`${name}_FILE names an empty file: write the secret into it`)
  if (text.length > MAX_CHARACTERS) throw new ConfigError(`${name}_FILE names a file too large for a secret`)
  return text
}

function readText(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    // The path is left out, because somebody may have put the secret itself there.
    const { code = 'no text' } = error as NodeJS.ErrnoException
    throw new ConfigError(`${variable} names a file that cannot be read (${code})`)
  }
}

/** Every object inherits `constructor`, the environment as well. */
function ownValue(source: EnvironmentSource, name: string): string | undefined {
  return (Object.hasOwn(source, name) ? source[name] : undefined) || undefined
}
