import { inflateRawSync } from 'node:zlib'
import { unreadData } from './bounded-jobs.ts'

/** Bytes of a step's JSON that the page unpacks; it blocks the process meanwhile. */
const MOST_INFLATED = 1024 * 1024
/** Items of a list, and characters of a text, that the page shows. */
const [MOST_ITEMS, MOST_TEXT] = [20, 2_000]
/** A step nests six deep. */
const MOST_DEPTH = 12

/** The data of a job for people: a deflated step is unpacked; long lists and texts are cut. Never throws. */
export function shownData(data: unknown): unknown {
  const unread = unreadData(data)
  if (unread !== undefined) return unread
  if (typeof data !== 'object' || data === null || !('payload' in data)) return cut(data)
  const { payload, ...rest } = data
  if (typeof payload !== 'string') return cut(data)
  const isWhole = 'parts' in rest && rest.parts === 1
  return cut({ ...rest, ...(isWhole ? unpacked(payload) : { payload }) })
}

function unpacked(payload: string): Record<string, unknown> {
  try {
    const text = inflateRawSync(Buffer.from(payload, 'base64'), { maxOutputLength: MOST_INFLATED })
    return { step: JSON.parse(text.toString('utf8')) as unknown }
  } catch {
    return { payload: `${payload.length} characters: too large to be shown, or no step` }
  }
}

function cut(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    return value.length <= MOST_TEXT ? value : `${value.slice(0, MOST_TEXT)}… (${value.length} characters)`
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth > MOST_DEPTH) return '…'
  if (Array.isArray(value)) {
    const more = value.length - MOST_ITEMS
    const shown = value.slice(0, MOST_ITEMS).map((item) => cut(item, depth + 1))
    return more > 0 ? [...shown, `… and ${more} more`] : shown
  }
  const entries = Object.entries(value)
  return Object.fromEntries(entries.slice(0, MOST_TEXT).map(([key, item]) => [key, cut(item, depth + 1)]))
}
