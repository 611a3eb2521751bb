import t from 'tap'
import {
  channelIdBytes,
  filecoinAddressFor,
  namedSecret,
  secp256k1Address,
} from '../../../devnet/evm/loan-texts.ts'

void t.test('a t1 address is the text of its payload and checksum', (t) => {
  const payload = Buffer.from('83cf76978041af5ce91557335a3035a6ac267974', 'hex')
  t.equal(secp256k1Address(payload), 't1qphxnf4aigxvz2ivk4zvumbvu2wcm6lu6pxwu2i')
  t.match(filecoinAddressFor('0xAB'), /^t1[a-z2-7]{39}$/)
  t.equal(filecoinAddressFor('0xAB'), filecoinAddressFor('0xab'))
  t.not(filecoinAddressFor('0xAB'), filecoinAddressFor('0xAC'))
  t.end()
})

void t.test('a channel id is text padded right', (t) => {
  t.equal(channelIdBytes(1234), `0x743031323334${'0'.repeat(52)}`)
  t.end()
})

void t.test('a secret is 64 hex digits of text', (t) => {
  const secret = new TextDecoder().decode(namedSecret('seed/erc20Loans/A1/1'))
  t.match(secret, /^[0-9a-f]{64}$/)
  t.not(secret, new TextDecoder().decode(namedSecret('seed/erc20Loans/B1/1')))
  t.end()
})
