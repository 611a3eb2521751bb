import { readFileSync } from 'node:fs'

/** Returns the flags for Node in a script of package.json. Throws an Error that names the script when there is none. */
export function scriptFlags(script: string): string[] {
  const file = new URL('../../package.json', import.meta.url)
  const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { scripts: Record<string, string> }
  const command = scripts[script]
  if (command === undefined) throw new Error(`package.json has no script "${script}"`)
  return command.split(' ').filter((word) => word.startsWith('--'))
}
