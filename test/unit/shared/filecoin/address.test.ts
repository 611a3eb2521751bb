import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  actorIdOf,
  canonicalAddress,
  decodeAddress,
  delegatedAddress,
  encodeAddress,
  formatAddress,
  idAddress,
  networkLetter,
  parseAddress,
} from '../../../../shared/filecoin/address.ts'
import { ADDRESS, bytes } from '../../../helpers/filecoin-arbitraries.ts'
import { cases } from '../../../helpers/cases.ts'

const KNOWN = [
  ['t1qphxnf4aigxvz2ivk4zvumbvu2wcm6lu6pxwu2i', 1],
  ['f2xjl6b4xwp7wj4qs4nwdmufenzhfu4izqiyehmiq', 2],
  ['t01234', 0],
  ['f00', 0],
  ['f09223372036854775807', 0],
] as const

void t.test('known addresses', (t) => {
  for (const [text, protocol] of KNOWN) {
    const address = parseAddress(text)
    if (address === null) throw new Error(`${text} is refused`)
    t.equal(address.protocol, protocol)
    t.equal(formatAddress(address, text.startsWith('f') ? 'f' : 't'), text)
  }
  t.end()
})

void t.test('text and bytes of every address, with either letter, lead back to it', (t) => {
  fc.assert(
    fc.property(ADDRESS, fc.constantFrom('f', 't'), (address, letter) => {
      const text = formatAddress(address, letter)
      return (
        isDeepStrictEqual(parseAddress(text), address) &&
        isDeepStrictEqual(decodeAddress(encodeAddress(address)), address)
      )
    }),
  )
  t.pass('held')
  t.end()
})

void t.test('the canonical form is one for both letters', (t) => {
  fc.assert(
    fc.property(ADDRESS, (address) => {
      const f = formatAddress(address, 'f')
      return canonicalAddress(f) === f && canonicalAddress(formatAddress(address, 't')) === f
    }),
  )
  t.pass('held')
  t.end()
})

void t.test(
  'what has a canonical form is an address, also where it may be of an actor by its number',
  (t) => {
    const number = fc.oneof(
      fc.stringMatching(/^\d{1,21}$/),
      fc.bigInt({ min: (1n << 63n) - 2n, max: (1n << 63n) + 2n }).map(String),
      fc.constantFrom(
        '',
        '0',
        '00',
        '01',
        '1\n',
        ' 1',
        '1e3',
        '٣',
        '9'.repeat(17),
        '9'.repeat(18),
        '1'.padEnd(19, '0'),
      ),
    )
    const text = fc
      .tuple(fc.constantFrom('f0', 't0', 'F0', 'f', 'g0', '0'), number)
      .map((parts) => parts.join(''))
    const found = { addresses: 0 }
    fc.assert(
      fc.property(text, (text) => {
        const isAddress = parseAddress(text) !== null
        found.addresses += isAddress ? 1 : 0
        return canonicalAddress(text) === (isAddress ? `f${text.slice(1)}` : null)
      }),
      { numRuns: cases(2_000) },
    )
    t.ok(found.addresses > cases(150), `${found.addresses} addresses`)
    t.end()
  },
)

void t.test('one wrong character is noticed', (t) => {
  const text = 't1qphxnf4aigxvz2ivk4zvumbvu2wcm6lu6pxwu2i'
  for (let i = 0; i < text.length; i++) {
    for (const other of ['2', 'q', '1', 'Q', '=', ' ', 'é']) {
      const changed = text.slice(0, i) + other + text.slice(i + 1)
      if (changed !== text) t.equal(parseAddress(changed), null, changed)
    }
  }
  t.end()
})

void t.test('a second spelling of an address is none', (t) => {
  const delegated = formatAddress(delegatedAddress(10n, new Uint8Array(20)), 'f')
  t.match(delegated, /^f410f[a-z2-7]+$/)
  t.not(parseAddress(delegated), null)
  for (const text of [
    '',
    'f',
    'f0',
    'f001',
    'f0-1',
    'f01.0',
    'f01 ',
    ' f01',
    'F01',
    'f0１',
    'f09223372036854775808',
    'f018446744073709551616',
    'f5aaaa',
    'f1',
    'f3',
    'f4',
    'f410f',
    delegated.replace('f410f', 'f4010f'),
    delegated.toUpperCase(),
    `${delegated}=`,
    `f4${'9'.repeat(19)}faaaaaaaa`,
    'f1qphxnf4aigxvz2ivk4zvumbvu2wcm6lu6pxwu2j',
    't1qphxnf4aigxvz2ivk4zvumbvu2wcm6lu6pxwu2i=',
    'f'.repeat(1_000_000),
  ]) {
    t.equal(parseAddress(text), null, text.slice(0, 60))
  }
  t.end()
})

void t.test('bytes that are no address', (t) => {
  for (const bytes of [
    [],
    [0],
    [0, 0x80],
    [0, 0x80, 0x00],
    [0, 1, 1],
    [0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    [1, 2, 3],
    [2, ...Array<number>(21).fill(7)],
    [3, ...Array<number>(47).fill(7)],
    [4],
    [4, 10, ...Array<number>(55).fill(7)],
    [5, ...Array<number>(20).fill(7)],
  ]) {
    t.equal(decodeAddress(Uint8Array.from(bytes)), null, bytes.join(' '))
  }
  t.end()
})

void t.test('whatever the text or bytes: null or an address that leads back to them', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), addressLikeText()), (text) => {
      const address = parseAddress(text)
      return address === null || formatAddress(address, text.startsWith('f') ? 'f' : 't') === text
    }),
    { numRuns: cases(1000) },
  )
  fc.assert(
    fc.property(bytes(60), (bytes) => {
      const address = decodeAddress(bytes)
      return address === null || Buffer.compare(encodeAddress(address), bytes) === 0
    }),
    { numRuns: cases(1000) },
  )
  t.pass('held')
  t.end()
})

function addressLikeText(): fc.Arbitrary<string> {
  return fc.stringMatching(/^[ft][0-4][0-9]{0,3}f?[a-z2-7]{0,50}$/)
}

void t.test('IDs, letters and limits', (t) => {
  t.equal(actorIdOf(idAddress(1234n)), 1234n)
  t.equal(actorIdOf(delegatedAddress(10n, new Uint8Array(20))), null)
  t.equal(networkLetter('mainnet'), 'f')
  t.equal(networkLetter('calibrationnet'), 't')
  t.throws(() => idAddress(2n ** 63n), RangeError)
  t.throws(() => delegatedAddress(10n, new Uint8Array(55)), RangeError)
  t.end()
})
