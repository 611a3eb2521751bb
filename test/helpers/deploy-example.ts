import { readFileSync } from 'node:fs'

/** Returns a configuration example of deploy/ with some of its texts replaced. Throws where one is not there. */
export function deployExample(name: string, replacements: Readonly<Record<string, string>>): string {
  let text = readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`deploy/${name} has no "${from}"`)
    text = text.replaceAll(from, to)
  }
  return text
}
