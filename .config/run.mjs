/**
 * Runs one of this project's TypeScript programs: `node .config/run.mjs indexer/cli/main.ts status`. From source
 * where tsx is installed, else from dist/, so that operators' commands work in a production image as well.
 * Written in plain JavaScript that any Node since 14 reads, for it is also the one to say that Node is too old.
 */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import util from 'node:util'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Node.js 20.19 or newer is needed; this is ${process.versions.node}`)
  process.exit(2)
}

const root = new URL('..', import.meta.url)
const program = process.argv[2]
const source = new URL(program, root)
const compiled = new URL(`dist/${program.replace(/\.ts$/, '.js')}`, root)

// A running `npm start` tells where its parts are. The environment comes first, and nothing of the file counts
// beside another database or one that is named by a file.
const told = `${process.env.DATA_DIR || '.data'}/service.env`
if (program !== 'devnet/start/main.ts' && !process.env.DATABASE_URL_FILE && existsSync(told)) {
  try {
    const parts = util.parseEnv(readFileSync(told, 'utf8'))
    if (!process.env.DATABASE_URL || process.env.DATABASE_URL === parts.DATABASE_URL) {
      for (const name of Object.keys(parts)) {
        if (!process.env[`${name}_FILE`]) process.env[name] = process.env[name] || parts[name]
      }
    }
  } catch (error) {
    console.error(`${told} cannot be read: ${error.message}`)
  }
}

let entry = compiled
if (existsSync(source)) {
  try {
    const { register } = await import('tsx/esm/api')
    register()
    entry = source
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  }
}
if (!existsSync(entry)) {
  console.error(`${fileURLToPath(entry)} is missing: run \`npm ci\` (to develop) or \`npm run build\` first`)
  process.exit(2)
}
process.setSourceMapsEnabled(true)
process.argv.splice(1, 2, fileURLToPath(entry))
await import(pathToFileURL(process.argv[1]).href)
