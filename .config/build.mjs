/**
 * Bundles the programs for production, each with the packages that it needs, and the web page: `node .config/build.mjs
 * [<folder>]`, dist/ where none is named. To find, read and link a thousand modules is most of what a start costs, and a start is most of
 * what a kill costs. Migrations stay files of their own, which are found by their names.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decode, encode } from '@jridgewell/sourcemap-codec'
import { build } from 'esbuild'
import { buildPage } from './build-page.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const outdir = process.argv[2] ?? `${root}dist`
const programs = [
  'indexer/main.ts',
  'api/main.ts',
  'indexer/intake/main.ts',
  'indexer/webhooks/main.ts',
  'indexer/cli/main.ts',
]
const migrations = readdirSync(`${root}migrations`).map((name) => `migrations/${name}`)

const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: [...programs, ...migrations],
  outdir,
  outbase: root,
  bundle: true,
  // Without comments, which need characters of two bytes: one of these, and V8 keeps all of a file's code at two bytes a
  // character. To read and hold it was a fifth of a start and 15 to 30 MiB. Names stay, for stacks and for classes of errors.
  minifyWhitespace: true,
  minifySyntax: true,
  // What several of them need is there once: a migration is made of the same Kysely that runs it.
  splitting: true,
  chunkNames: 'chunks/[hash]',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // An addition of pg's that nobody has to have.
  external: ['pg-native'],
  sourcemap: true,
  sourcesContent: false,
  // Packages of the older kind of modules ask for Node's own by `require`, and for their place by `__dirname`.
  banner: {
    js: [
      "import { createRequire as requireFrom } from 'node:module'",
      'const require = requireFrom(import.meta.url)',
      'const __filename = import.meta.filename',
      'const __dirname = import.meta.dirname',
    ].join('\n'),
  },
  logLevel: 'warning',
  metafile: true,
  write: false,
})

// What was there before goes once there is something in its place.
rmSync(outdir, { recursive: true, force: true })
for (const { path, contents, text } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, path.endsWith('.map') ? withoutPackages(text) : contents)
}
// @fastify/swagger-ui looks for its page in the folder beside its own, which is api/ once it is bundled.
cpSync(`${root}node_modules/@fastify/swagger-ui/static`, `${outdir}/static`, { recursive: true })
// Bull Board's page, which the indexer serves where QUEUE_PAGE is set.
cpSync(`${root}node_modules/@bull-board/ui/dist`, `${outdir}/queue-page/dist`, { recursive: true })
const pagePackages = await buildPage(`${outdir}/api/page`)
writeFileSync(`${outdir}/LICENSES.txt`, [licencesOf(metafile, pagePackages), licenceOfDocs()].join(divider()))

/** The licence of each bundled package. Most licences ask that copies carry their text. */
function licencesOf({ inputs }, pagePackages) {
  const folders = Object.keys(inputs).map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0])
  const texts = [...new Set([...folders, ...pagePackages, 'node_modules/@bull-board/ui'])]
    .filter(Boolean)
    .sort()
    .map(licenceOf)
  return texts.join(divider())
}

function divider() {
  return `\n${'-'.repeat(80)}\n\n`
}

/** The files of /docs come from swagger-ui-dist, whose licence @fastify/swagger-ui does not carry. */
function licenceOfDocs() {
  const { devDependencies } = JSON.parse(
    readFileSync(`${root}node_modules/@fastify/swagger-ui/package.json`, 'utf8'),
  )
  const version = devDependencies['swagger-ui-dist']
  const notices = ['swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js']
    .map((file) => `https://unpkg.com/swagger-ui-dist@${version}/${file}.LICENSE.txt`)
    .join('\n')
  const apache = readFileSync(`${root}node_modules/typescript/LICENSE.txt`, 'utf8').trim()
  return `swagger-ui-dist ${version} (static/): Apache-2.0\n\nNotices of the packages inside:\n${notices}\n\n${apache}\n`
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(`${root}${folder}/package.json`, 'utf8'))
  const file = readdirSync(`${root}${folder}`).find((entry) => /^(licen[cs]e|copying)/i.test(entry))
  const text =
    file === undefined
      ? 'No licence file: package.json names the licence alone.'
      : readFileSync(`${root}${folder}/${file}`, 'utf8')
  return `${name} ${version}: ${license}\n\n${text.trim()}\n`
}

/**
 * A source map of our own files only. Node takes all of it apart for the first error whose stack is looked at (whatever a
 * stream is destroyed with is one): those of the packages were nine tenths of it, and 50 MiB.
 */
function withoutPackages(text) {
  const map = JSON.parse(text)
  const isPackage = map.sources.map((source) => source.includes('node_modules/'))
  let wasOwn = false
  const lines = decode(map.mappings).map((line) =>
    line.flatMap((segment) => {
      const isOwn = segment.length > 1 && !isPackage[segment[1]]
      // Where a package's code begins there is no source any more: without a word it would be the last one's.
      const kept = isOwn ? [segment] : wasOwn ? [[segment[0]]] : []
      wasOwn = isOwn
      return kept
    }),
  )
  return JSON.stringify({ ...map, mappings: encode(lines) })
}
