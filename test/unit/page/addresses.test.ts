import fc from 'fast-check'
import t from 'tap'
import { EVENT_GROUPS, isSigning } from '../../../api/page/lib/events.ts'
import { explorerLink } from '../../../api/page/lib/explorer.ts'
import { ratePercent } from '../../../api/page/lib/rates.ts'
import { hashOf, loanHash, marketOf, parseHash } from '../../../api/page/lib/route.ts'
import { guess } from '../../../api/page/lib/search-form.ts'
import { RECORD_EVENTS } from '../../../shared/events/record-events.ts'

void t.test('an address of the page is read as it was written', (t) => {
  t.match(parseHash('#/loan/ERC20/7?asOf=5'), { view: 'loan', parts: ['ERC20', '7'] })
  t.equal(parseHash('#/loan/ERC20/7?asOf=5').query.get('asOf'), '5')
  t.match(parseHash(''), { view: '', parts: [] })
  t.match(parseHash('#/a%zz/%'), { view: 'a%zz', parts: ['%'] })
  t.equal(loanHash(marketOf('FILERC20'), 'V2-7'), '#/loan/FIL/V2-7')
  const part = fc.string({ unit: 'grapheme', minLength: 1 })
  fc.assert(
    fc.property(fc.array(part, { minLength: 1 }), fc.dictionary(part, part), (parts, query) => {
      const { view, parts: rest, query: read } = parseHash(hashOf(parts, query))
      t.same([view, ...rest], parts)
      t.same(Object.fromEntries(read), { ...query })
    }),
  )
  t.end()
})

void t.test('a link to a block explorer is https and on its host, whatever is put into it', (t) => {
  const explorer = {
    transaction: 'https://a.example/tx/{transaction}#x',
    address: 'javascript:alert(1)//{address}',
  }
  t.equal(explorerLink(explorer, 'transaction', '0x12'), 'https://a.example/tx/0x12#x')
  t.equal(explorerLink(explorer, 'address', '0x12'), null)
  t.equal(explorerLink(null, 'address', '0x12'), null)
  t.equal(explorerLink({ transaction: 'https://a.example/tx/', address: null }, 'transaction', '1'), null)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const link = explorerLink(explorer, 'transaction', value)
      return link?.startsWith('https://a.example/tx/') === true && link.endsWith('#x')
    }),
  )
  t.end()
})

void t.test('the form of a text says what it can be', (t) => {
  const kinds = (text: string): string[] => guess(text).map(({ kind }) => kind)
  t.same(kinds('7'), ['loan', 'record'])
  t.same(kinds(' #282000000 '), ['loan', 'record'])
  t.same(kinds('9'.repeat(30)), ['loan'])
  t.same(kinds('V2-7'), ['loan'])
  t.same(kinds('0x70997970C51812dc3A010C7d01b50e0d17dc79C8'), ['account'])
  t.same(kinds('t1odd7vlkzel6ajqebo63dhrvll2tclqryp7s2eza'), ['account'])
  t.same(kinds('t2awhecrbr574isyarwew2uwwjjxzmc32e5o7damq'), ['channel', 'account'])
  t.same(kinds('t01037'), ['account', 'channel'])
  t.same(guess(`0x${'Ab'.repeat(32)}`), [{ kind: 'hash', txHash: `0x${'ab'.repeat(32)}`, isVoucher: false }])
  t.match(guess('bafy2bzacec3djhurk7crnvveboqchipoiwhsnht5fi6givfdin4ojdwl35qbi'), [{ isVoucher: false }])
  t.same(guess(`i0MAjQgAAFggtT03T6UHjSKu-_${'A'.repeat(20)}`), [
    { kind: 'hash', txHash: `i0MAjQgAAFggtT03T6UHjSKu+/${'A'.repeat(20)}==`, isVoucher: true },
  ])
  for (const text of ['', 'hello', '<b>', '0x12', '-1', '0x']) t.same(kinds(text), [], text)
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => Array.isArray(guess(text))))
  t.end()
})

void t.test('the page offers every kind of event once', (t) => {
  t.same(EVENT_GROUPS.flatMap(({ events }) => [...events]).sort(), [...RECORD_EVENTS].sort())
  t.ok(isSigning('LendFIL/SignWithdrawVoucher'))
  t.notOk(isSigning('LendFIL/RedeemWithdrawVoucher'))
  t.end()
})

void t.test('a share is told as percent', (t) => {
  for (const [share, percent] of [
    ['0.0725', '7.25'],
    ['0', '0'],
    ['1', '100'],
    ['0.123456789', '12.34'],
    ['0.00000000000000001', '0.000000000000001'],
  ] as const)
    t.equal(ratePercent(share), percent)
  t.end()
})
