/** The media types of an answer, the default first. */
const TYPES = ['application/json', 'text/csv', 'application/x-ndjson'] as const
export type MediaType = (typeof TYPES)[number]

interface Range {
  type: string
  /** 0 to 1; 0 refuses the type. */
  quality: number
}

/**
 * The type that an `Accept` header prefers (RFC 9110, section 12.5.1): by quality, then by how exactly the header names
 * it. JSON if it accepts none of them, for an error must be readable as well.
 */
export function acceptedType(accept: string | undefined): MediaType {
  if (accept === undefined) return TYPES[0]
  const ranges = accept.split(',').map(toRange)
  let best = { type: TYPES[0] as MediaType, quality: 0, exactness: 0 }
  for (const type of TYPES) {
    const judged = { type, ...judge(type, ranges) }
    const isBetter =
      judged.quality > best.quality || (judged.quality === best.quality && judged.exactness > best.exactness)
    if (judged.quality > 0 && isBetter) best = judged
  }
  return best.type
}

function toRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((one) => one.startsWith('q='))?.slice(2)
  return { type, quality: quality === undefined ? 1 : Number(quality) || 0 }
}

/** The most exact range that covers a type decides. */
function judge(type: MediaType, ranges: Range[]): { quality: number; exactness: number } {
  const patterns = ['*/*', `${type.split('/', 1)[0]}/*`, type]
  let decisive = { quality: 0, exactness: 0 }
  for (const range of ranges) {
    const exactness = patterns.indexOf(range.type) + 1
    if (exactness > decisive.exactness) decisive = { quality: range.quality, exactness }
  }
  return decisive
}
