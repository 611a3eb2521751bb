import { readFileSync } from 'node:fs'

const text = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

export interface Block {
  language: string
  lines: string[]
}

/** The README's code blocks, in order. */
export const readmeBlocks: Block[] = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
  ([, language, body]) => ({
    language: language ?? '',
    lines: (body ?? '').split('\n').filter((line) => line !== ''),
  }),
)

/** Each call of the README with the answer it shows, parsed. */
export const readmeSamples: { path: string; answer: unknown }[] = readmeBlocks.flatMap((block, index) => {
  const path = /^curl http:\/\/127\.0\.0\.1:3000(\S+)$/.exec(block.lines[0] ?? '')?.[1]
  const next = readmeBlocks[index + 1]
  if (path === undefined || next?.language !== 'json') return []
  return [{ path, answer: JSON.parse(next.lines.join('\n')) as unknown }]
})

/** The rows of a Markdown table whose first cell is code: `name` -> the other cells. */
export const readmeVariables: Map<string, string[]> = new Map(
  [...text.matchAll(/^\| `([A-Z_]+)` \|(.*)\|$/gm)].map(([, name = '', rest = '']) => [
    name,
    rest.split('|').map((cell) => cell.trim()),
  ]),
)

/** What a JSON value looks like from outside: names in their order; of a list, its first element. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (value === null || typeof value !== 'object') return '…'
  return Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)])
}
