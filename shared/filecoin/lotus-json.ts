import { parse } from 'lossless-json'

const INTEGER = /^-?\d+$/

/**
 * Parses a Lotus node's JSON. Integers outside the safe range (nonces, lanes, methods: bare numbers up to 2^64-1)
 * become bigint, all other numbers number. Throws a SyntaxError.
 */
export function parseLotusJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // Searching the parsed value takes a tenth of the time of searching the text for long numbers.
  if (!holdsInexact(value)) return value
  try {
    return parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
  } catch (error) {
    if (error instanceof SyntaxError) throw error
    throw new SyntaxError('JSON nests too deep', { cause: error })
  }
}

function parseNumber(text: string): number | bigint {
  const value = Number(text)
  return INTEGER.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value
}

/**
 * Returns whether the value holds a number that may have been rounded. Not recursive, so that deep values cannot
 * overflow the stack.
 */
function holdsInexact(value: unknown): boolean {
  const open: object[] = []
  const isInexact = (inner: unknown): boolean => {
    // A number of more than 308 digits is parsed as infinity.
    if (typeof inner === 'number')
      return Number.isInteger(inner) ? !Number.isSafeInteger(inner) : !Number.isFinite(inner)
    if (typeof inner === 'object' && inner !== null) open.push(inner)
    return false
  }
  if (isInexact(value)) return true
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next) ? next.some(isInexact) : someValue(next, isInexact)) return true
  }
  return false
}

/** `Object.values` would build a list for each of thousands of objects, which costs more than the search. */
function someValue(holder: object, test: (value: unknown) => boolean): boolean {
  for (const name in holder) if (test((holder as Record<string, unknown>)[name])) return true
  return false
}
