/**
 * Hides secrets in text from other programs, in every form: plain, with URL or JSON escapes, in hex, in base64 and
 * base64url at every alignment. The header of Basic authentication is an example of the latter.
 */

/** Shorter secrets occur in ordinary words, and hiding them would make text unreadable. They stay visible. */
export const SHORTEST_SECRET = 4
const HIDDEN = '***'
/** Characters of one character's longest encoding: `u0041` after 15 backslashes, four levels of JSON deep. */
const WIDEST_ESCAPE = 20

export interface Redactor {
  (text: string): string
  /** Length of the longest secret in its longest encoding. */
  longest: number
}

/** Names such as `filecoin` or `main-net` are no tokens, and hiding them would spoil each line of a log. */
const WORD = /^[a-z]{1,12}(-[a-z]{1,12})*$/

/** The parts of a URL that can contain tokens, with and without escapes. Empty if `text` is no URL. */
export function secretsInUrl(text: string): string[] {
  if (!URL.canParse(text)) return []
  const { pathname, search, searchParams, hash } = new URL(text)
  const query = [...search.slice(1).split(/[&=]/), ...searchParams.keys(), ...searchParams.values()]
  return [...loginIn(text), ...withUnescaped([...pathname.split('/'), ...query, hash.slice(1)])]
}

/** The {@link secretsInUrl} to hide in all output of a program: without path segments and parameters that are words. */
export function tokensInUrl(text: string): string[] {
  const login = loginIn(text)
  return secretsInUrl(text).filter((secret) => login.includes(secret) || !WORD.test(secret))
}

/** The password of a URL, and its `user:password` for Basic authentication. */
export function passwordInUrl(text: string): string[] {
  if (!URL.canParse(text)) return []
  const { username, password } = new URL(text)
  return password === ''
    ? []
    : [`${unescaped(username)}:${unescaped(password)}`, ...withUnescaped([password])]
}

function loginIn(text: string): string[] {
  const username = URL.canParse(text) ? new URL(text).username : ''
  return [...passwordInUrl(text), ...withUnescaped([username])]
}

function withUnescaped(parts: string[]): string[] {
  return [...parts, ...parts.map(unescaped)]
}

export function createRedactor(given: readonly string[]): Redactor {
  // Longest first, because one secret may contain another.
  const secrets = [...new Set(given)]
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .sort((a, b) => b.length - a.length)
  const patterns = secrets.map((secret) => new RegExp(encodingsOf(secret).join('|'), 'gu'))
  const redact = (text: string): string =>
    patterns.reduce((shown, pattern) => shown.replaceAll(pattern, HIDDEN), text)
  return Object.assign(redact, { longest: (secrets[0]?.length ?? 0) * WIDEST_ESCAPE })
}

/**
 * Redacts the first characters of a text of any length. Their end is left out, because a secret may have been cut
 * there.
 */
export function redactedStart(redact: Redactor, text: string, length: number): string {
  if (text.length <= length) return redact(text)
  const shown = redact(text.slice(0, length))
  return shown.slice(0, Math.max(0, shown.length - redact.longest))
}

function encodingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const hex = Array.from(bytes.toString('hex')).map(eitherCase).join('')
  return [
    Array.from(secret).map(escapesOf).join(''),
    hex,
    ...[0, 1, 2].map((before) => base64Within(bytes, before)),
  ]
}

/**
 * A pattern of the base64 digits that the secret determines, if `before` bytes precede it in its group of three. A
 * digit at its edges belongs to its neighbour as well, and is hidden with it.
 */
function base64Within(bytes: Buffer, before: number): string {
  const digits = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
  const from = Math.ceil((before * 8) / 6)
  const bits = (before + bytes.length) * 8
  const own = Array.from(digits.slice(from, Math.floor(bits / 6)))
    .map(inBase64)
    .join('')
  return `${before === 0 ? '' : `${ANY_BASE64}?`}${own}${bits % 6 === 0 ? '' : `${ANY_BASE64}?`}`
}

const ANY_BASE64 = '(?:[A-Za-z0-9+\\/_\\-]|%2[bBfF])'

/** A pattern of a character, plain or with the escapes of URLs or JSON, even if those were escaped again. */
function escapesOf(character: string): string {
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25)?${hexOf(byte, 2)}`).join('')
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  const json = units.map((unit) => `\\\\{1,15}u${hexOf(unit, 4)}`).join('')
  const short = JSON.stringify(character).slice(1, -1)
  const plain = `\\\\{0,15}${literal(character)}`
  const others = short !== character && character !== '"' && character !== '\\' ? `|${literal(short)}` : ''
  const space = character === ' ' ? '|\\+' : ''
  return `(?:${plain}|${percent}|${json}${others}${space})`
}

/** `+` and `/` have other digits in base64url, and may be escaped. */
function inBase64(digit: string): string {
  if (digit === '+') return '(?:[+\\-]|%2[bB]|\\\\{1,15}u002[bB])'
  if (digit === '/') return '(?:\\\\{0,15}\\/|_|%2[fF])'
  return digit
}

function hexOf(value: number, width: number): string {
  return Array.from(value.toString(16).padStart(width, '0')).map(eitherCase).join('')
}

function eitherCase(digit: string): string {
  return /[a-f]/.test(digit) ? `[${digit}${digit.toUpperCase()}]` : digit
}

function literal(text: string): string {
  return Array.from(text)
    .map((one) => `\\u{${one.codePointAt(0)?.toString(16) ?? ''}}`)
    .join('')
}

/** A part of a URL without its escapes; unchanged if a `%` begins none. */
export function unescaped(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const known = new Set<string>()
let redactKnown = createRedactor([])

/** Adds secrets of this process's configuration; no line of its log shows one. */
export function rememberSecrets(secrets: readonly string[]): void {
  const before = known.size
  for (const secret of secrets) known.add(secret)
  if (known.size > before) redactKnown = createRedactor([...known])
}

/** Hides all remembered secrets. */
export function hideSecrets(text: string): string {
  return redactKnown(text)
}

/** Hides secrets in the texts of a JSON line; numbers and field names stay the same. */
export function hideInJsonLine(line: string): string {
  const hide = (value: unknown): unknown => {
    if (typeof value === 'string') return hideSecrets(value)
    if (Array.isArray(value)) return value.map(hide)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hide(one)]))
  }
  return hideSecrets(line) === line ? line : `${JSON.stringify(hide(JSON.parse(line)))}\n`
}
