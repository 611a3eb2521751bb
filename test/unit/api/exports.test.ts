import fc from 'fast-check'
import t from 'tap'
import { acceptedType } from '../../../api/exports/accepted-type.ts'
import { ExportPlaces } from '../../../api/exports/export-places.ts'
import { csvCell, csvLine } from '../../../shared/csv.ts'

void t.test('an answer has the type that the client prefers, else JSON', (t) => {
  for (const [accept, type] of [
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
    ['application/json, text/plain, */*', 'application/json'],
    ['image/png', 'application/json'],
    ['text/csv', 'text/csv'],
    ['TEXT/CSV; charset=utf-8', 'text/csv'],
    ['text/*', 'text/csv'],
    ['text/csv, */*', 'text/csv'],
    ['text/csv, application/json', 'application/json'],
    ['text/csv, application/json;q=0.9', 'text/csv'],
    ['text/csv;q=0, */*', 'application/json'],
    ['text/csv;q=nonsense', 'application/json'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['application/x-ndjson;q=0.2,text/csv;q=0.1', 'application/x-ndjson'],
    ['application/*', 'application/json'],
  ] as const)
    t.equal(acceptedType(accept), type, `${accept}`)
  t.end()
})

/** The rows of a text as RFC 4180 says. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (let at = 0; at < text.length;) {
    const [whole = '', quoted, plain = '', end = ''] =
      /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(text.slice(at)) ?? []
    if (whole === '') throw new Error(`no cell at ${at} of ${JSON.stringify(text)}`)
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    at += whole.length
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

void t.test('cells are read as they were, and none is a formula', (t) => {
  const piece = fc.oneof(fc.string(), fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '"', ',', "'"))
  const cell = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1, maxLength: 4 }), (cells) => {
      const [row = [], ...others] = parseCsv(csvLine(cells))
      return (
        others.length === 0 &&
        row.every((text) => !/^[=+\-@\t\r\n]/.test(text)) &&
        row.every((text, index) => text === cells[index] || text === `'${cells[index]}`)
      )
    }),
    { numRuns: 2_000 },
  )
  t.equal(csvCell('=1+1'), `'=1+1`)
  t.equal(csvCell('\t=1,"2"'), `"'\t=1,""2"""`)
  t.equal(csvCell(null), '')
  t.equal(csvCell(7), '7')
  t.end()
})

void t.test('a client has one export at a time, all clients together a few', (t) => {
  const places = new ExportPlaces(2)
  const first = places.take('a')
  t.equal(places.take('a'), null)
  t.ok(places.take('b'))
  t.equal(places.take('c'), null)
  first?.()
  t.ok(places.take('c'))
  t.equal(new ExportPlaces(0).take('a'), null, 'a single connection is not for exports')
  t.end()
})
