import type { FuzzRandom } from './random.ts'

/** Texts and JSON values that often break programs. */

const TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00y',
  '\u2028',
  '\ufeff',
  '😀',
  'é\u0301',
  '٣',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'length',
  '0',
  '-0',
  '-1',
  '00',
  '1e3',
  '1e400',
  '0x',
  '0x0',
  '0X00',
  '0xg0',
  '0x8000000000000000',
  '0xffffffffffffff',
  'NaN',
  'Infinity',
  'null',
  'undefined',
  'true',
  '9007199254740993',
  '18446744073709551615',
  '18446744073709551616',
  '-9223372036854775809',
  '${HOME_TOKEN}',
  '${constructor}',
  '${__proto__}',
  '${',
  '$&',
  '%00',
  '%',
  '/',
  '\\',
  '"',
  '\n',
  '\r\nSet-Cookie: a',
  'f00',
  't01234',
  'f4',
  'f410f',
  'bafy2bza',
  '====',
  'AA==',
  'https://',
  'http://[::1',
] as const

const CHARACTERS = [
  '\0',
  '\n',
  '\ud800',
  '\udfff',
  'é',
  '😀',
  '0',
  'f',
  'x',
  '=',
  '-',
  '.',
  '%',
  '/',
  '$',
  '{',
] as const

export function hostileText(random: FuzzRandom): string {
  switch (random.below(6)) {
    case 0:
      return 'a'.repeat(random.pick([1, 31, 64, 200, 1_000, 20_000]))
    case 1:
      return '9'.repeat(random.pick([15, 16, 19, 20, 78, 79, 400, 401, 5_000]))
    case 2:
      return `0x${Buffer.from(random.bytes(random.pick([1, 19, 20, 21, 31, 32, 33, 65, 256]))).toString('hex')}`
    case 3:
      return Buffer.from(random.bytes(random.below(100))).toString('base64')
    default:
      return random.pick(TEXTS)
  }
}

export function mutatedText(random: FuzzRandom, text: string): string {
  const at = random.below(text.length + 1)
  switch (random.below(7)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(at)
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + random.below(3))
    case 3:
      return text.slice(0, at) + random.pick(CHARACTERS) + text.slice(at)
    case 4:
      return text.slice(0, at) + random.pick(CHARACTERS) + text.slice(at + 1)
    case 5:
      return at % 2 === 0 ? text.toUpperCase() : text + text
    default: {
      const changed = String.fromCharCode(
        text.charCodeAt(at % Math.max(1, text.length)) ^ (1 << random.below(7)),
      )
      return text === '' ? 'a' : text.slice(0, at) + changed + text.slice(at + 1)
    }
  }
}

/** Texts of JSON numbers, including some that JavaScript cannot hold. */
const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1.5',
  '1e400',
  '-1e400',
  '1e-400',
  '1E2',
  '255',
  '256',
  '4294967296',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '18446744073709551615',
  '18446744073709551616',
  '-9223372036854775808',
  '-9223372036854775809',
  '00',
  '0x10',
  'NaN',
] as const
const VALUES = [
  'null',
  'true',
  'false',
  '{}',
  '[]',
  '""',
  '[null]',
  '[[]]',
  '{"/":null}',
  '{"/":"bafy2bzaa,b"}',
  '{"__proto__":null}',
  '{"__proto__":{"a":1},"a":2}',
  '{"constructor":{"prototype":{}}}',
  '{"toString":1,"length":-1,"toJSON":"x","then":{}}',
  '{"a":1,"a":2}',
  '{"\\u0000":"\\u0000"}',
  '{"\\ud800":"\\udc00"}',
  'undefined',
] as const

const DEPTHS = [33, 200, 1_000, 3_000, 10_000] as const

export function hostileJson(random: FuzzRandom): string {
  if (random.chance(0.003)) return nested(random.pick(DEPTHS), random.chance(0.5))
  switch (random.below(5)) {
    case 0:
      return JSON.stringify(hostileText(random))
    case 1:
      return '123456789'.repeat(random.pick([1, 2, 9, 50]))
    case 2:
      return random.pick(VALUES)
    case 3:
      return `[${Array.from({ length: random.below(6) }, () => random.pick(VALUES)).join()}]`
    default:
      return random.pick(NUMBERS)
  }
}

export function hostileKey(random: FuzzRandom): string {
  return JSON.stringify(random.chance(0.7) ? random.pick(TEXTS) : hostileText(random))
}

function nested(depth: number, asObjects: boolean): string {
  return asObjects
    ? `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    : `${'['.repeat(depth)}${']'.repeat(depth)}`
}
