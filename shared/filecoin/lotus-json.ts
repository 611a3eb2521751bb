import { parse } from 'lossless-json'

const INTEGER = /^-?\d+$/

/**
 * A JSON text of a Lotus node. Integers outside the safe range (nonces, lanes, methods: bare numbers up to 2^64-1) are
 * bigint, all other numbers number. Throws a SyntaxError.
 */
export function parseLotusJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // To look through what was read takes a tenth of what it takes to look for long numbers in the text.
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

/** Whether a number is in it that was perhaps rounded. Not by calling itself: however deep the value is. */
function holdsInexact(value: unknown): boolean {
  const open: object[] = []
  const isInexact = (inner: unknown): boolean => {
    // One of more than 308 digits is infinite.
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

/** A list of the values, made for each of thousands of objects, would cost more than the looking. */
function someValue(holder: object, test: (value: unknown) => boolean): boolean {
  for (const name in holder) if (test((holder as Record<string, unknown>)[name])) return true
  return false
}
