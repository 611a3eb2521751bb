import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The TypeScript files of the service's programs, without their ending. */
export type ProgramName = 'indexer/main' | 'api/main' | 'indexer/cli/main'

/**
 * A program of the service for a process of its own: the file, and flags for Node. Under `npm test` it is bundled as
 * production has it, of the sources as they are now: it starts in a third of the time. Otherwise it is the source itself.
 */
export function serviceProgram(name: ProgramName): { path: string; flags: string[] } {
  const bundles = process.env['TEST_PROGRAMS']
  return bundles === undefined
    ? { path: join(ROOT, `${name}.ts`), flags: ['--import=tsx', '--no-warnings'] }
    : { path: join(bundles, `${name}.js`), flags: ['--enable-source-maps', '--no-warnings'] }
}
