import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The built page. Under `npm test` it lies beside the bundled programs, else where `npm start` puts it. */
export function builtPage(): URL {
  const bundles = process.env['TEST_PROGRAMS']
  const folder = join(bundles ?? join(ROOT, 'dist'), 'api/page')
  if (bundles === undefined) execFileSync(process.execPath, [join(ROOT, '.config/build-page.mjs'), folder])
  return pathToFileURL(`${folder}/`)
}
