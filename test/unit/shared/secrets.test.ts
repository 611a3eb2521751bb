import fc from 'fast-check'
import t from 'tap'
import {
  createRedactor,
  hideInJsonLine,
  passwordInUrl,
  redactedStart,
  rememberSecrets,
  secretsInUrl,
  SHORTEST_SECRET,
  tokensInUrl,
} from '../../../shared/secrets.ts'
import { cases } from '../../helpers/cases.ts'

const unicode = (text: string): string =>
  Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('')
const percent = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const json = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Each writes a text in another way; `before` and `after` stand beside it within the same encoding. */
const ENCODINGS: Record<string, (secret: string, before: string, after: string) => string> = {
  plain: (secret, before, after) => before + secret + after,
  url: (secret) => encodeURIComponent(secret),
  percent: (secret) => percent(secret),
  'percent, upper case': (secret) => percent(secret).toUpperCase().replaceAll('%', '%'),
  'percent, twice': (secret) => encodeURIComponent(percent(secret)),
  json: (secret) => json(secret),
  'json in json': (secret) => json(json(secret)),
  unicode: (secret) => unicode(secret),
  hex: (secret, before, after) => Buffer.from(before + secret + after).toString('hex'),
  'hex, upper case': (secret) => Buffer.from(secret).toString('hex').toUpperCase(),
  base64: (secret, before, after) => Buffer.from(before + secret + after).toString('base64'),
  'base64, url': (secret, before, after) =>
    encodeURIComponent(Buffer.from(before + secret + after).toString('base64')),
  base64url: (secret, before, after) => Buffer.from(before + secret + after).toString('base64url'),
  basic: (secret, before) => `Basic ${Buffer.from(`${before}:${secret}`).toString('base64')}`,
}

/** All that a reader could make of a text: decoded in every way, at every alignment. */
function readingsOf(text: string): string[] {
  const readings = [text]
  for (const _ of [1, 2]) {
    for (const one of [...readings]) {
      readings.push(
        one.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
      )
      readings.push(
        one
          .replaceAll(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
          .replaceAll(
            /\\(.)/g,
            (_, escaped: string) => ({ n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' })[escaped] ?? escaped,
          ),
      )
    }
  }
  const utf8 = readings.map((one) => Buffer.from(one, 'latin1').toString())
  const packed = [...readings].flatMap((one) => one.match(/[A-Za-z0-9+/_-]{4,}/g) ?? [])
  const unpacked = packed.flatMap((run) => [
    ...[0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), 'base64').toString()),
    ...[0, 1].map((skip) => Buffer.from(run.slice(skip), 'hex').toString()),
  ])
  return [...readings, ...utf8, ...unpacked]
}

const secret = fc
  .oneof(
    fc.string({ minLength: SHORTEST_SECRET, maxLength: 40, unit: 'grapheme-ascii' }),
    fc.string({ minLength: SHORTEST_SECRET, maxLength: 20, unit: 'grapheme' }),
    fc.base64String({ minLength: SHORTEST_SECRET, maxLength: 60 }),
  )
  // The mark that stands for a secret is no secret.
  .filter((text) => !text.includes('*') && text.length >= SHORTEST_SECRET)
const beside = fc.string({ maxLength: 7, unit: fc.constantFrom('a', 'b', 'y', 'z', '0', '1', '9', '.', ':') })

void t.test('no encoding of a secret is shown, at any alignment', (t) => {
  for (const [name, encode] of Object.entries(ENCODINGS)) {
    fc.assert(
      fc.property(secret, beside, beside, (hidden, before, after) => {
        const encoded = encode(hidden, before, after)
        const shown = createRedactor([hidden])(`could not do it: "${encoded}" (401)`)
        return !readingsOf(shown).some((reading) => reading.includes(hidden))
      }),
      { numRuns: cases(300) },
    )
    t.pass(name)
  }
  t.end()
})

void t.test('the parts of a URL that hold tokens are secrets, wherever they are', (t) => {
  const part = fc.string({
    minLength: SHORTEST_SECRET,
    maxLength: 20,
    unit: fc.constantFrom(...Array.from('abcXYZ019-_!@:/?# %')),
  })
  fc.assert(
    fc.property(part, part, part, part, (user, password, segment, value) => {
      const [name, word, path, query] = [user, password, segment, value].map(encodeURIComponent)
      const redact = createRedactor(
        secretsInUrl(`https://${name}:${word}@node.example/${path}/rpc?key=${query}`),
      )
      const basic = Buffer.from(`${user}:${password}`).toString('base64')
      const shown = redact([user, password, segment, value, name, word, path, query, basic].join(' | '))
      return ![user, password, segment, value].some((one) =>
        readingsOf(shown).some((text) => text.includes(one)),
      )
    }),
    { numRuns: cases(300) },
  )
  t.match(
    createRedactor(secretsInUrl('http://me:pw@node.example'))(`Basic ${btoa('me:pw')}`),
    /^Basic \*+=*$/,
  )
  t.end()
})

void t.test('text stays readable: words of a path, and what is shorter than four characters', (t) => {
  const tokens = tokensInUrl('https://node.example/filecoin/main-net/rpc/v1/0123456789abcdef?network=testnet')
  t.ok(tokens.includes('0123456789abcdef'))
  for (const word of ['filecoin', 'main-net', 'network']) t.notOk(tokens.includes(word), word)
  t.equal(createRedactor(['v1', 'rpc', ''])('rpc/v1 failed'), 'rpc/v1 failed')
  t.strictSame(secretsInUrl('no url'), [])
  t.strictSame(passwordInUrl('postgres://postgres@127.0.0.1/loans'), [], 'a name alone')
  t.end()
})

void t.test('a secret at the place where a long text is cut is not shown in part', (t) => {
  const redact = createRedactor(['s3cr3t-of-the-node'])
  for (let at = 60; at <= 120; at += 1) {
    const shown = redactedStart(redact, `${'.'.repeat(at)}s3cr3t-of-the-node${'.'.repeat(200)}`, 240)
    t.notMatch(shown, /s3c/)
  }
  t.end()
})

void t.test('no line of a log shows a secret of the configuration, and each stays JSON', (t) => {
  fc.assert(
    fc.property(secret, fc.constantFrom(...Object.values(ENCODINGS)), beside, (hidden, encode, before) => {
      rememberSecrets([hidden])
      const said = encode(hidden, before, '')
      const line = `${JSON.stringify({ level: 30, pid: 1234, err: { message: said, list: [said] }, msg: said })}\n`
      const written = hideInJsonLine(line)
      const parsed = JSON.parse(written) as {
        level: number
        err: { message: string; list: string[] }
        msg: string
      }
      t.equal(parsed.level, 30)
      return [parsed.err.message, ...parsed.err.list, parsed.msg].every(
        (text) => !readingsOf(text).some((reading) => reading.includes(hidden)),
      )
    }),
    { numRuns: cases(200) },
  )
  t.end()
})
