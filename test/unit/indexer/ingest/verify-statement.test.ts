import fc from 'fast-check'
import t from 'tap'
import { readStatement, verifyStatement } from '../../../../indexer/ingest/verify-statement.ts'
import {
  BORROWER,
  knownChannel,
  keyOf,
  signStatement,
  STATEMENT,
  textOf,
} from '../../../helpers/signed-vouchers.ts'

const CHECKSUMMED = '0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9'

function without(...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(STATEMENT).filter(([name]) => !names.includes(name)))
}

void t.test('what the dapp signs is read and verified', (t) => {
  const verdict = verifyStatement(signStatement(STATEMENT), knownChannel(), 't')
  t.match(verdict, {
    ok: true,
    signer: textOf(BORROWER),
    facts: {
      contractLoanId: '42',
      contract: CHECKSUMMED,
      networkId: '31337',
      secretHash: `0x${'ab'.repeat(32)}`,
    },
  })
  t.end()
})

void t.test('the other market’s names, numbers for text, no 0x', (t) => {
  const { paymentChannelAddress, paymentChannelId } = STATEMENT
  const statement = {
    contractLoanId: 7,
    erc20CollateralLock: CHECKSUMMED,
    collateralNetwork: 56,
    secretHashB1: 'cd'.repeat(32),
    paymentChannelAddress,
    paymentChannelId,
  }
  const signed = signStatement(statement)
  t.match(verifyStatement({ ...signed, signature: `0x${signed.signature}` }, knownChannel(), 't'), {
    ok: true,
    facts: {
      contractLoanId: '7',
      contract: CHECKSUMMED,
      networkId: '56',
      secretHash: `0x${'cd'.repeat(32)}`,
    },
  })
  t.match(readStatement(signStatement(without('erc20LoansNetworkId', 'secretHashA1'))), {
    ok: true,
    facts: { networkId: null, secretHash: null },
  })
  t.end()
})

void t.test('only the channel’s payer counts, and only for this channel', (t) => {
  t.match(verifyStatement(signStatement(STATEMENT, keyOf('lender')), knownChannel(), 't'), {
    ok: false,
    reason: /signed by t1.* did not pay/,
  })
  t.match(
    verifyStatement(
      signStatement({ ...STATEMENT, paymentChannelAddress: textOf(BORROWER) }),
      knownChannel(),
      't',
    ),
    { ok: false, reason: /names the channel/ },
  )
  // A reorg can give the channel another ID: the robust address decides, and the ID where there is no other.
  t.match(verifyStatement(signStatement({ ...STATEMENT, paymentChannelId: 't09' }), knownChannel(), 't'), {
    ok: true,
  })
  t.match(verifyStatement(signStatement(without('paymentChannelAddress')), knownChannel(), 't'), { ok: true })
  t.match(
    verifyStatement(
      signStatement({ ...without('paymentChannelAddress'), paymentChannelId: 't09' }),
      knownChannel(),
      't',
    ),
    { ok: false },
  )
  const { message, signature } = signStatement(STATEMENT)
  t.match(verifyStatement({ message: message.replace('42', '43'), signature }, knownChannel(), 't'), {
    ok: false,
  })
  t.end()
})

void t.test('a malformed field is refused by name', (t) => {
  const refused: [Record<string, unknown> | string, RegExp][] = [
    ['{', /is no JSON/],
    ['[]', /must be an object, not a list/],
    [without('contractLoanId'), /contractLoanId/],
    [{ ...STATEMENT, contractLoanId: '1e3' }, /contractLoanId/],
    [{ ...STATEMENT, contractLoanId: 1.5 }, /contractLoanId/],
    [{ ...STATEMENT, contractLoanId: '9'.repeat(79) }, /contractLoanId/],
    [{ ...STATEMENT, erc20LoansContract: '0x12' }, /erc20LoansContract/],
    [without('erc20LoansContract'), /no contract/],
    [{ ...STATEMENT, erc20CollateralLock: CHECKSUMMED }, /two contracts/],
    [without('paymentChannelId', 'paymentChannelAddress'), /no payment channel/],
    [{ ...STATEMENT, secretHashA1: 'short' }, /secretHashA1/],
    [{ ...STATEMENT, note: 'x'.repeat(16 * 1024) }, /more than/],
    ['{"note":"\0"}', /no text/],
    ['{"note":"\ud800"}', /no text/],
  ]
  for (const [message, reason] of refused) {
    t.match(readStatement(signStatement(message)), { ok: false, reason }, String(reason))
  }
  for (const signature of ['', 'zz'.repeat(65), '00'.repeat(64), '00'.repeat(65)]) {
    t.match(verifyStatement({ ...signStatement(STATEMENT), signature }, knownChannel(), 't'), { ok: false })
  }
  t.end()
})

void t.test('whatever the text is, nothing is thrown', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), fc.string(), (message, signature) => {
      return !verifyStatement({ message, signature }, knownChannel(), 't').ok
    }),
  )
  t.end()
})
