import { readdirSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)

/** The text of README.md and of each page in docs/, by its path from the root. */
export const documents: ReadonlyMap<string, string> = new Map(
  ['README.md', ...readdirSync(new URL('docs', root)).map((name) => `docs/${name}`)]
    .filter((path) => path.endsWith('.md'))
    .map((path) => [path, readFileSync(new URL(path, root), 'utf8')]),
)

export interface Block {
  language: string
  lines: string[]
}

function textOf(path: string): string {
  const text = documents.get(path)
  if (text === undefined) throw new Error(`there is no ${path}`)
  return text
}

/** Returns the code blocks of a page, in order. */
export function blocksOf(path: string): Block[] {
  return [...textOf(path).matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, body]) => ({
    language: language ?? '',
    lines: (body ?? '').split('\n').filter((line) => line !== ''),
  }))
}

export interface Sample {
  path: string
  answer: unknown
}

/** Returns each call by curl on a page with its answer, parsed. */
export function samplesOf(path: string): Sample[] {
  return callsOf(path, /^curl http:\/\/127\.0\.0\.1:3000(\S+)$/)
}

/** Returns each call on a page that is written as `GET`, with its answer, which may lack fields. */
export function shortenedOf(path: string): Sample[] {
  return callsOf(path, /^GET (\S+)$/)
}

/** Returns the calls whose line is of this form, where an answer follows. */
function callsOf(path: string, form: RegExp): Sample[] {
  const blocks = blocksOf(path)
  return blocks.flatMap((block, index) => {
    const url = form.exec(block.lines[0] ?? '')?.[1]
    const next = blocks[index + 1]
    if (url === undefined || next?.language !== 'json') return []
    return [{ path: url, answer: JSON.parse(next.lines.join('\n')) as unknown }]
  })
}

/** Returns the table rows of a page whose first cell is a variable: `name` -> the other cells. */
export function variablesOf(path: string): Map<string, string[]> {
  return new Map(
    [...textOf(path).matchAll(/^\| `([A-Z_]+)` \|(.*)\|$/gm)].map(([, name = '', rest = '']) => [
      name,
      rest.split('|').map((cell) => cell.trim()),
    ]),
  )
}

/** Returns the outline of a JSON value: names in their order, and the first element of a list. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (value === null || typeof value !== 'object') return '…'
  return Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)])
}
