import t from 'tap'
import { headerHash } from '../../../../../indexer/sources/evm/proof/header-hash.ts'
import { readEvmHeaders, readEvmReceipts } from '../../../../helpers/evm-vectors.ts'

void t.test(
  'real headers of every fork hash to their blocks’ hashes, and of no chain that has other rules',
  (t) => {
    const headers = readEvmHeaders()
    t.equal(headers.length, 37)
    for (const { chain, fork, follows, header } of headers)
      t.equal(headerHash(header) === header['hash'], follows, `${chain}, ${fork ?? String(header['number'])}`)
    for (const { chain, headerFollows, header } of readEvmReceipts())
      if (header['hash'] !== undefined) t.equal(headerHash(header) === header['hash'], headerFollows, chain)
    t.end()
  },
)

void t.test('a change of any field that is hashed changes the hash', (t) => {
  const header = readEvmHeaders().find(({ fork }) => fork === 'Prague')?.header ?? {}
  let fields = 0
  for (const [name, value] of Object.entries(header)) {
    if (name === 'hash' || typeof value !== 'string') continue
    const last = value.endsWith('1') ? '2' : '1'
    t.not(headerHash({ ...header, [name]: value.slice(0, -1) + last }), header['hash'], name)
    t.not(headerHash({ ...header, [name]: undefined }), header['hash'], `${name} left out`)
    fields += 1
  }
  t.equal(fields, 21)
  t.end()
})

void t.test('a header with a field that is malformed or has none before it has no hash', (t) => {
  const header = readEvmHeaders().find(({ fork }) => fork === 'Prague')?.header ?? {}
  for (const change of [{ nonce: '0x' }, { gasUsed: 12 }, { difficulty: null }, { withdrawalsRoot: null }])
    t.equal(headerHash({ ...header, ...change }), null, JSON.stringify(change))
  t.end()
})
