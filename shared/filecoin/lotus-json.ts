import { parse } from 'lossless-json'

/** An integer that may be beyond 2^53, where a JSON value can begin. In a string it costs time and nothing else. */
const LONG_INTEGER = /[[:,\s]-?\d{16}|^-?\d{16}/
const INTEGER = /^-?\d+$/

/**
 * A JSON text of a Lotus node. Integers outside the safe range (nonces, lanes, methods: bare numbers up to 2^64-1) are
 * bigint, all other numbers number. Throws a SyntaxError.
 */
export function parseLotusJson(text: string): unknown {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text) as unknown
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
