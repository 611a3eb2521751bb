import { AbiCoder } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { symbolIn } from '../../../../indexer/sources/evm/token-symbol.ts'

const abi = (text: string): string => AbiCoder.defaultAbiCoder().encode(['string'], [text])
const abiBytes = (bytes: Buffer): string => AbiCoder.defaultAbiCoder().encode(['bytes'], [bytes])
const bytes32 = (text: string): string => `0x${Buffer.from(text).toString('hex').padEnd(64, '0')}`

void t.test('a symbol is what a reader can see', (t) => {
  for (const text of [
    'DAI',
    'USD Coin',
    'aUSDC.e',
    '1INCH',
    '₿',
    '日本円',
    'Ünï',
    'π',
    '$',
    '🦄',
    'a'.repeat(32),
  ])
    t.equal(symbolIn(abi(text)), text)
  for (const text of ['MKR', 'DGD', 'a'.repeat(31)])
    t.equal(symbolIn(bytes32(text)), text, `${text} as bytes32`)
  t.equal(symbolIn(bytes32('a'.repeat(32))), 'a'.repeat(32), 'a bytes32 without a zero at its end')
  t.end()
})

void t.test('a symbol that misleads, or is none, is null', (t) => {
  const hostile = {
    'is too long': 'a'.repeat(33),
    'is empty': '',
    'has a line end': 'DAI\n',
    'has a NUL': 'DAI\0X',
    'turns the text': 'DAI\u202EXYZ',
    'isolates the text': '\u2066DAI',
    'is invisible': '\u200B',
    'hides a joiner': 'D\u200DAI',
    'hides a filler': 'DAI\u3164',
    'begins with a space': ' DAI',
    'ends with a space': 'DAI ',
    'has spaces as padding': 'DAI  (fake)',
    'has another space': 'DAI\u00A0',
    'has a mark of nothing': '\u0301DAI',
    'has many marks': `D${'\u0301'.repeat(8)}AI`,
    'is for private use': '\uE000',
    'has a byte order mark': '\uFEFFDAI',
  }
  for (const [why, text] of Object.entries(hostile)) t.equal(symbolIn(abi(text)), null, why)
  t.equal(symbolIn(abiBytes(Buffer.from([0x44, 0xff, 0x49]))), null, 'is no UTF-8')
  t.equal(symbolIn(bytes32('A\0B')), null, 'has bytes after its end')
  for (const answer of [
    '0x',
    '0x12',
    'DAI',
    null,
    7,
    {},
    `0x${'f'.repeat(192)}`,
    `0x${'0'.repeat(62)}20${'f'.repeat(64)}`,
  ])
    t.equal(symbolIn(answer), null, JSON.stringify(answer))
  t.end()
})

void t.test('whatever bytes a token answers, its symbol is short, visible text or null', (t) => {
  const word = fc.oneof(
    fc.constantFrom('0'.repeat(62) + '20', '0'.repeat(64), '0'.repeat(62) + '03', 'f'.repeat(64)),
    fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  )
  const answer = fc.oneof(
    fc.array(word, { maxLength: 5 }).map((words) => `0x${words.join('')}`),
    fc.string({ unit: 'grapheme', maxLength: 40 }).map(abi),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => abiBytes(Buffer.from(bytes))),
  )
  fc.assert(
    fc.property(answer, (given) => {
      const symbol = symbolIn(given)
      return (
        symbol === null ||
        (/^[^\p{C}\p{Z}](?: ?[^\p{C}\p{Z}])*$/u.test(symbol) && Array.from(symbol).length <= 32)
      )
    }),
    { numRuns: 3_000 },
  )
  t.end()
})
