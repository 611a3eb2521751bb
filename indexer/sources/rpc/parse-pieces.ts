import { isPlain, plainText, textOfPieces, type Pieces } from './body-text.ts'

/**
 * (pure) JSON that came in pieces, without making one text of it. V8 gives a text of more than 128 kB pages of its own: to
 * fill them for the first time takes thirty times as long as a copy, and each counts towards the next collection of the whole
 * heap (docs/performance.md).
 */

/** What a text of JSON says: one with no other ideas of what JSON is than JSON.parse. */
export type Parse = (text: string) => unknown

/** With fewer characters a text is held until more comes. */
const ENOUGH = 32 * 1024
/** A list whose items are longer than so many times `enough` is read as one text. */
const MOST_HELD = 8
/** So many tell what kind of answer it is, however small the first pieces are; what needs more to tell is read as a whole. */
const HEAD_BYTES = 100
const MOST_HEAD = 1_000

/** A list as the whole answer (a batch), or as the result of one call. */
const HEAD = /^[ \t\r\n]*(?:\{[^[\]{}]*"result"[ \t\r\n]*:[ \t\r\n]*)?\[(?=\{)/
/** How a list's first item begins. Where `}`, a comma and that stand side by side, one item ends and another begins: perhaps. */
const OPENING = /^\{"[^"\\]*"/
const TAIL = /^(?:,"(?:jsonrpc|id)":(?:"[^"\\]*"|\d+))*\}?[ \t\r\n]*$/
/** With more characters behind its list an answer is none that is known. */
const MOST_TAIL = 200

/**
 * As `parse` of all the text, and as what it throws. Lists of objects, of which all long answers are made, are parsed some
 * items at a time.
 */
export function parsePieces(pieces: Pieces, enough = ENOUGH, parse: Parse = JSON.parse): unknown {
  const whole = (): unknown => parse(textOfPieces(pieces))
  let taken = 0
  let first: Buffer = Buffer.alloc(0)
  while (taken < pieces.length && first.byteLength < HEAD_BYTES) {
    first = taken === 0 ? (pieces[0] ?? first) : Buffer.concat([first, pieces[taken] ?? first])
    taken += 1
  }
  if (taken === pieces.length || !isPlain(pieces)) return whole()
  const beginning = first.toString('latin1', 0, MOST_HEAD)
  const head = HEAD.exec(beginning)?.[0]
  const opening = head === undefined ? undefined : OPENING.exec(beginning.slice(head.length))?.[0]
  if (head === undefined || opening === undefined) return whole()
  try {
    const list = parseItems(
      [first.subarray(head.length), ...pieces.slice(taken)],
      `},${opening}`,
      enough,
      parse,
    )
    if (list === null) return whole()
    const answer = parse(`${head}]${list.tail}`)
    if (Array.isArray(answer)) return list.items
    if (!isAnswer(answer)) return whole()
    answer.result = list.items
    return answer
  } catch {
    // What seemed to be the end of an item was none, or this is no JSON: then the error tells where.
    return whole()
  }
}

/**
 * The items of a list whose `[` was read, and what stands behind its `]`; null where that cannot be told. A cut in the wrong
 * place is an error: what is before it begins where an item begins, and is a list only where it ends with one.
 */
function parseItems(
  pieces: Pieces,
  border: string,
  enough: number,
  parse: Parse,
): { items: unknown[]; tail: string } | null {
  const items: unknown[] = []
  /** Begins where an item begins. */
  let held = ''
  let more: Buffer[] = []
  let moreBytes = 0
  for (const piece of pieces) {
    more.push(piece)
    moreBytes += piece.byteLength
    if (moreBytes < enough) continue
    const bytes = more.length === 1 ? piece : Buffer.concat(more)
    more = []
    moreBytes = 0
    const end = bytes.lastIndexOf(border, undefined, 'latin1') + 1
    if (end > 0) {
      pushAll(items, held + bytes.toString('latin1', 0, end), parse)
      held = bytes.toString('latin1', end + 1)
    } else held += bytes.toString('latin1')
    if (held.length > enough * MOST_HELD) return null
  }
  held += plainText(more)
  const end = held.lastIndexOf('}]') + 1
  const tail = held.slice(end + 1)
  if (end === 0 || tail.length > MOST_TAIL || !TAIL.test(tail)) return null
  pushAll(items, held.slice(0, end), parse)
  return { items, tail }
}

function isAnswer(value: unknown): value is { result: unknown } {
  return typeof value === 'object' && value !== null && 'result' in value && Array.isArray(value.result)
}

function pushAll(items: unknown[], list: string, parse: Parse): void {
  for (const item of parse(`[${list}]`) as unknown[]) items.push(item)
}
