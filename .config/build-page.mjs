/**
 * Bundles the web page of api/page/: `node .config/build-page.mjs [<folder>]`, dist/api/page/ where none is named. A
 * folder that was built from the same sources stays as it is, which takes some milliseconds.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = `${root}api/page`
/** Names the sources of a build, so that a later start can tell whether they changed. */
const STAMP = 'sources.txt'

const NO_CLIENT = '\0no-client'
/** The functions of the client use the one that they are given, so that the default one is dead weight. */
const withoutDefaultClient = {
  name: 'without-default-client',
  enforce: 'pre',
  resolveId: (id, importer) =>
    id === './client.gen.js' && importer?.endsWith('/sdk.gen.ts') ? NO_CLIENT : null,
  load: (id) => (id === NO_CLIENT ? 'export const client = undefined' : null),
}

/**
 * Branches of the chart library that the page's options never reach: a legend, a cursor, its own times, scatter plots,
 * scales that are not linear, and other shapes of a line. It comes as one function, so that a bundler cannot see that they
 * are dead. They are a fifth of its size.
 */
const CHART_TRIMS = [
  [/const showLegend = legend\.show;/, ''],
  [/const showCursor =\s+cursor\.show;/, ''],
  [/\bshow(?:Legend|Cursor)\b/g, 'false'],
  [/\b(?:\w+\.)?distr (?:==|>=) [34]\b/g, 'false'],
  [/\bmode == 2\b/g, 'false'],
  [/\bmode == 1\b/g, 'true'],
  [/\(paths\.(?:stepped|spline) +=[^;]*;/g, ''],
  [/uPlot\.(?:join|fmtDate|tzDate|addGap|clipGaps) += \w+;/g, ''],
  [/let isTime = [^;]+;/g, ''],
  [/\bisTime\b/g, 'false'],
  [/const \[[^\]]*\] = genTimeStuffs\([^)]*\);/g, ''],
  [/const _(?:tzDate|fmtDate|time\w+) += \(?(?:opts|ms|time\w+)\b[^;]*;/g, ''],
]
const withoutUnusedCharts = {
  name: 'without-unused-charts',
  transform: (code, id) => {
    if (!id.endsWith('/uPlot.esm.js')) return null
    return CHART_TRIMS.reduce((text, [pattern, replacement]) => {
      if (text.search(pattern) === -1) throw new Error(`uPlot has no ${pattern} any more: mend CHART_TRIMS`)
      return text.replace(pattern, replacement)
    }, code)
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? `${root}dist/api/page`)
  if (stampOf(folder) !== sourceDigest()) await buildPage(folder)
}

/** Builds beside the folder, then replaces it; for a moment there is none. Returns the folders of the bundled packages, relative to the project. */
export async function buildPage(folder) {
  const { build } = await import('vite')
  const digest = sourceDigest()
  const temporary = `${folder}.${process.pid}`
  mkdirSync(dirname(folder), { recursive: true })
  const { output } = await build({
    configFile: false,
    root: page,
    // Relative addresses, so that a proxy may serve the page below a path.
    base: './',
    publicDir: false,
    cacheDir: `${root}node_modules/.cache/vite`,
    logLevel: 'warn',
    plugins: [withoutDefaultClient, withoutUnusedCharts],
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: temporary,
      emptyOutDir: true,
      target: 'es2022',
      // The policy of the page forbids scripts in the document.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      // What is compressed together is smaller. The charts alone are large enough to come when they are needed.
      cssCodeSplit: false,
      rolldownOptions: {
        output: {
          codeSplitting: {
            groups: [{ name: 'views', test: /\/api\/page\/(?!views\/status|main)|client\/generated/ }],
          },
        },
      },
      reportCompressedSize: false,
    },
  })
  writeFileSync(`${temporary}/${STAMP}`, digest)
  rmSync(folder, { recursive: true, force: true })
  renameSync(temporary, folder)
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  const folders = modules.map((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative(root, id))?.[0])
  return [...new Set(folders)].filter(Boolean)
}

function stampOf(folder) {
  try {
    return readFileSync(`${folder}/${STAMP}`, 'utf8')
  } catch {
    return undefined
  }
}

function sourceDigest() {
  const hash = createHash('sha256')
  const folders = [page, `${root}api/loan-life`, `${root}client/generated`]
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  const single = [`${root}package-lock.json`, `${root}client/index.ts`, fileURLToPath(import.meta.url)]
  for (const file of [...single, ...files.sort()]) {
    if (statSync(file).isFile()) hash.update(relative(root, file)).update('\0').update(readFileSync(file))
  }
  return hash.digest('hex')
}
