import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PARTS = ['indexer', 'shared', 'migrations', 'test/kill-points']

export interface Compiled {
  indexer: string
  preload: string
  remove(): Promise<void>
}

/**
 * Compiles the programs like production, and the hook, because a program that starts hundreds of times must start fast.
 */
export async function compile(): Promise<Compiled> {
  await mkdir(join(ROOT, '.data'), { recursive: true })
  // Inside the project, so that packages are found.
  const folder = await mkdtemp(join(ROOT, '.data', 'kill-points-'))
  const files = await Promise.all(PARTS.map((part) => readdir(join(ROOT, part), { recursive: true })))
  const sources = files.flatMap((names, index) =>
    names.filter((name) => name.endsWith('.ts')).map((name) => join(PARTS[index] ?? '', name)),
  )
  for (const source of sources) {
    const target = join(folder, source.replace(/\.ts$/, '.js'))
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, transpile(await readFile(join(ROOT, source), 'utf8')))
  }
  return {
    indexer: join(folder, 'indexer/main.js'),
    preload: join(folder, 'test/kill-points/preload.js'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

function transpile(source: string): string {
  return ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  }).outputText
}
