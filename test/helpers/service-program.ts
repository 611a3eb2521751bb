import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The TypeScript files of the service's programs, without extension. */
export type ProgramName =
  'indexer/main' | 'api/main' | 'indexer/intake/main' | 'indexer/webhooks/main' | 'indexer/cli/main'

/**
 * Returns a service program for a process of its own: the file, and flags for Node. Under `npm test` it is a bundle of
 * the present sources, like production's, and starts in a third of the time. Otherwise it is the source itself.
 */
export function serviceProgram(name: ProgramName): { path: string; flags: string[] } {
  const bundles = process.env['TEST_PROGRAMS']
  return bundles === undefined
    ? { path: join(ROOT, `${name}.ts`), flags: ['--import=tsx', '--no-warnings'] }
    : { path: join(bundles, `${name}.js`), flags: ['--enable-source-maps', '--no-warnings'] }
}
