import t from 'tap'
import { foldChannel, namesOf, type Channel } from '../../../../shared/channels/channel.evolve.ts'
import {
  CLOCK_TOLERANCE_S,
  type NamedChannels,
  STRENGTH,
} from '../../../../indexer/projections/links/link.evolve.ts'
import { linkChannel } from '../../../../indexer/projections/links/link-channel.evolve.ts'
import { indexLoans } from '../../../../indexer/projections/links/loan-index.evolve.ts'
import { addressIn, type LoanFacts } from '../../../../shared/loans/loan-facts.evolve.ts'
import { planEntries } from '../../../../indexer/event-log/plan-entries.evolve.ts'
import { canonicalAddress } from '../../../../shared/filecoin/address.ts'
import type { FilecoinEvent, FilecoinIdentity } from '../../../../shared/events/filecoin-event.ts'
import type { LogEntry } from '../../../../shared/events/log-entry.ts'
import {
  fundChannel,
  makeChannel,
  signedStatement,
  signedVoucher,
  voucherFacts,
} from '../../../helpers/channel-events.ts'
import { channelAddress, person } from '../../../helpers/two-chain-stories.ts'

const BORROWER = person('borrower')
const LENDER = person('lender')
const STRANGER = person('stranger')
const ROBUST = channelAddress('the channel')
const CHANNEL_ID = 't01234'
const HASH_A1 = `0x${'a1'.repeat(32)}`
const HASH_B1 = `0x${'b1'.repeat(32)}`
const VALUE = 5n * 10n ** 18n
const MADE = makeChannel({
  height: 1000,
  channel: ROBUST,
  channelId: CHANNEL_ID,
  from: BORROWER,
  recipient: LENDER,
  value: VALUE.toString(),
})
const MADE_S = MADE.blockTimeS

function fold(...events: FilecoinEvent[]): Channel {
  const entries = planEntries({ network: 'filecoin:testnet', blockchain: 'FIL' }, [], [MADE, ...events], null)
  const channel = foldChannel(
    entries.map((entry, index): LogEntry => ({
      ...entry,
      position: index + 1,
      step: 1,
      recordedAt: new Date(0),
    })),
  )
  if (channel === undefined) throw new Error('no channel')
  return channel
}

function name({ asWritten }: FilecoinIdentity): string | null {
  return canonicalAddress(asWritten)
}

function offer(given: Partial<LoanFacts> = {}): LoanFacts {
  return {
    loanType: 'ERC20FIL',
    loanId: '7',
    contractLoanId: '7',
    contract: '0x00000000000000000000000000000000000000C0',
    networkId: '31337',
    namedChannel: null,
    borrower: null,
    lender: name(LENDER),
    secretHashA1: null,
    secretHashB1: HASH_B1,
    requestedAttoFil: null,
    times: { openedS: MADE_S - 600, agreedS: null, endedS: null },
    ...given,
  }
}

function lock(given: Partial<LoanFacts> = {}): LoanFacts {
  return {
    ...offer(),
    loanType: 'FILERC20',
    borrower: name(BORROWER),
    lender: name(LENDER),
    secretHashA1: HASH_A1,
    times: { openedS: MADE_S - 900, agreedS: MADE_S - 600, endedS: null },
    requestedAttoFil: VALUE,
    ...given,
  }
}

const signed = (hash: string, by: FilecoinIdentity, amount = '1'): FilecoinEvent =>
  signedVoucher(
    ROBUST,
    by.asWritten,
    voucherFacts({ key: `${hash}${amount}`, channelAddr: ROBUST, secretHash: hash, amount }),
  )

const NONE: NamedChannels = new Map()

function strengthOf(channel: Channel, ...loans: LoanFacts[]): string {
  return strengthBeside(NONE, channel, ...loans)
}

/** With other channels that loans name. */
function strengthBeside(named: NamedChannels, channel: Channel, ...loans: LoanFacts[]): string {
  const { link } = linkChannel(channel, indexLoans(loans), named)
  return link === null ? 'none' : `${link.loanId} ${link.role} ${link.strength}`
}

void t.test('strongest first: the contract, a secret hash, a statement, the parties', (t) => {
  const channel = fold()
  t.equal(strengthOf(channel, offer()), `7 collateral ${STRENGTH.parties}`)
  const statement = signedStatement({
    channel: ROBUST,
    signer: BORROWER.asWritten,
    contractLoanId: '8',
    contract: '0x00000000000000000000000000000000000000c0',
  })
  const other = offer({ loanId: '8', contractLoanId: '8' })
  t.equal(strengthOf(channel, offer(), other), 'none', 'two that fit are no answer')
  t.equal(strengthOf(fold(statement), offer(), other), `8 collateral ${STRENGTH.statement}`)
  const byHash = offer({ loanId: '9', borrower: name(BORROWER), secretHashA1: HASH_A1, secretHashB1: null })
  const vouched = fold(statement, signed(HASH_A1, BORROWER))
  t.equal(
    strengthOf(vouched, offer({ secretHashB1: null }), other, byHash),
    `9 collateral ${STRENGTH.secretHash}`,
  )
  const naming = offer({ loanId: '10', namedChannel: canonicalAddress(CHANNEL_ID), borrower: name(BORROWER) })
  t.equal(strengthOf(vouched, offer(), other, byHash, naming), `10 collateral ${STRENGTH.contract}`)
  const twice = { ...naming, loanId: '11' }
  t.equal(
    strengthOf(vouched, byHash, naming, twice),
    'none',
    'two contracts that say so: nothing weaker decides',
  )
  t.same(linkChannel(channel, indexLoans([other, offer()]), NONE).claimants, ['ERC20FIL/7', 'ERC20FIL/8'])
  t.end()
})

void t.test('a contract cannot name a channel of strangers', (t) => {
  const naming = { namedChannel: canonicalAddress(CHANNEL_ID) }
  t.equal(strengthOf(fold(), offer({ ...naming, lender: name(STRANGER) })), 'none')
  t.equal(strengthOf(fold(), offer({ ...naming, borrower: name(STRANGER) })), 'none')
  t.equal(
    strengthOf(fold(), offer({ ...naming, borrower: null, lender: null })),
    '7 collateral 4',
    'what is no address says nothing',
  )
  t.end()
})

void t.test('a claim needs a channel: without one the weaker links decide', (t) => {
  const other = 'f0999'
  const parties = (from: FilecoinIdentity, recipient: FilecoinIdentity): NamedChannels =>
    new Map([[other, [{ from: namesOf(from), recipient: namesOf(recipient) }]]])
  const naming = (given: Partial<LoanFacts> = {}): LoanFacts =>
    offer({ namedChannel: other, borrower: name(BORROWER), secretHashA1: HASH_A1, ...given })
  const own = parties(BORROWER, LENDER)
  t.equal(strengthOf(fold(), naming()), '7 collateral 1', 'there is no such channel')
  t.equal(strengthOf(fold(signed(HASH_A1, BORROWER)), naming()), '7 collateral 3', 'its voucher says so')
  t.equal(strengthBeside(own, fold(), naming()), 'none', 'the contract names another one of its own')
  t.equal(strengthBeside(own, fold(signed(HASH_A1, BORROWER)), naming()), 'none', 'also against a voucher')
  for (const strangers of [parties(STRANGER, LENDER), parties(BORROWER, STRANGER), parties(LENDER, BORROWER)])
    t.equal(strengthBeside(strangers, fold(), naming()), '7 collateral 1', 'that one is others’')
  const request = lock({ namedChannel: other })
  t.equal(
    strengthBeside(parties(LENDER, BORROWER), fold(), request),
    '7 payback 1',
    'a payback is never named',
  )
  const payback = lock({ namedChannel: canonicalAddress(CHANNEL_ID) })
  t.equal(
    strengthOf(fold(), payback),
    '7 payback 1',
    'named where the principal’s belongs, with the parties of a payback',
  )
  const principal = { ...request, borrower: name(LENDER), lender: name(BORROWER) }
  const early = { openedS: MADE_S - 60, agreedS: MADE_S + 60, endedS: null }
  t.equal(strengthOf(fold(), { ...principal, times: early }), '7 principal 1')
  t.equal(strengthBeside(own, fold(), { ...principal, times: early }), 'none')
  t.end()
})

void t.test('of contracts that name one channel, that counts which its parties signed for', (t) => {
  const agreed = (loanId: string, agreedS: number, given: Partial<LoanFacts> = {}) =>
    offer({
      ...{ loanId, contractLoanId: loanId, namedChannel: canonicalAddress(CHANNEL_ID) },
      ...{ borrower: name(BORROWER), secretHashA1: HASH_A1 },
      times: { openedS: 0, agreedS, endedS: null },
      ...given,
    })
  const own = agreed('7', MADE_S + 60)
  const garbage = agreed('8', MADE_S, { borrower: null, lender: null })
  const parties = agreed('9', MADE_S, { secretHashA1: `0x${'00'.repeat(32)}` })
  const everything = agreed('10', MADE_S + 90)
  const voucher = signed(HASH_A1, BORROWER)
  t.equal(strengthOf(fold(), garbage, own), '7 collateral 4', 'parties that can be read are better than none')
  t.equal(strengthOf(fold(), parties, own), 'none', 'addresses can be copied')
  t.equal(strengthOf(fold(voucher), garbage, parties, own), '7 collateral 4', 'a voucher with its hash')
  t.equal(strengthOf(fold(voucher), everything, own), '7 collateral 4', 'whose hash was copied came first')
  t.equal(strengthOf(fold(voucher), agreed('11', MADE_S + 60), own), 'none', 'at the same time: who can tell')
  const statement = signedStatement({
    channel: ROBUST,
    signer: BORROWER.asWritten,
    contractLoanId: '10',
    contract: own.contract,
  })
  t.equal(
    strengthOf(fold(voucher, statement), everything, own),
    '10 collateral 4',
    'a statement names the loan',
  )
  t.end()
})

void t.test('parties are compared by who they are, not by how they are written', (t) => {
  for (const lender of [LENDER.id, LENDER.robust[0], LENDER.asWritten.replace('t', 'f')])
    t.equal(
      strengthOf(fold(), offer({ lender: canonicalAddress(lender ?? '') })),
      '7 collateral 1',
      lender ?? '',
    )
  t.equal(strengthOf(fold(), offer({ lender: name(STRANGER) })), 'none')
  t.end()
})

void t.test('a name that no node could tell says nothing against the contract', (t) => {
  const nameless = { ...fold(), recipient: { asWritten: 't0100', id: 't0100', robust: [] } }
  const naming = offer({ namedChannel: canonicalAddress(CHANNEL_ID) })
  t.equal(
    strengthOf(nameless, naming),
    '7 collateral 4',
    'the contract says so, and the ID may be that lender’s',
  )
  t.equal(strengthOf(nameless, offer()), 'none', 'by parties alone they must be known')
  t.equal(strengthOf(nameless, { ...naming, lender: 'f0101' }), 'none', 'another ID is another party')
  t.end()
})

void t.test('who has a key has no actor’s address: a contract that names one means somebody else', (t) => {
  const naming = { namedChannel: canonicalAddress(CHANNEL_ID), borrower: name(BORROWER) }
  const actor = canonicalAddress(channelAddress('a multisig'))
  const delegated = 'f410fkkld55ioe7qg24wvt7fu6pbknb56ht7pt4zamxa'
  t.equal(strengthOf(fold(), offer({ ...naming, lender: actor })), 'none')
  t.equal(strengthOf(fold(), offer({ ...naming, lender: canonicalAddress(delegated) })), 'none')
  const byActor = { ...fold(), recipient: { asWritten: 't0100', id: 't0100', robust: [actor ?? ''] } }
  t.equal(strengthOf(byActor, offer({ ...naming, lender: name(LENDER) })), 'none')
  t.equal(strengthOf(byActor, offer({ ...naming, lender: actor })), '7 collateral 4')
  t.equal(strengthOf(byActor, offer({ ...naming, lender: delegated })), '7 collateral 4', 'it may have both')
  t.end()
})

void t.test(
  'a thousand loans that fit are as undecided as two, and none of them hides a stronger one',
  (t) => {
    const many = Array.from({ length: 1000 }, (_, index) => offer({ loanId: `${index + 100}` }))
    const strong = offer({ loanId: '99999', namedChannel: canonicalAddress(CHANNEL_ID) })
    t.equal(strengthOf(fold(), ...many), 'none')
    t.equal(linkChannel(fold(), indexLoans(many), NONE).claimants.length, 2)
    t.equal(strengthOf(fold(), ...many, strong), '99999 collateral 4')
    t.end()
  },
)

void t.test('by its parties a channel fits a loan that was open when it was made', (t) => {
  const times = (openedS: number, endedS: number | null) =>
    offer({ times: { openedS, agreedS: null, endedS } })
  t.equal(strengthOf(fold(), times(MADE_S + CLOCK_TOLERANCE_S, null)), '7 collateral 1')
  t.equal(strengthOf(fold(), times(MADE_S + CLOCK_TOLERANCE_S + 1, null)), 'none', 'made before the offer')
  t.equal(strengthOf(fold(), times(0, MADE_S + 600)), '7 collateral 1', 'cancelled later: still its channel')
  t.equal(strengthOf(fold(), times(0, MADE_S - CLOCK_TOLERANCE_S)), 'none', 'over before')
  t.end()
})

void t.test(
  'of loans that follow one another, one that had not ended when the channel was made comes first',
  (t) => {
    const times = (loanId: string, agreedS: number, endedS: number | null) =>
      lock({ loanId, contractLoanId: loanId, times: { openedS: agreedS - 60, agreedS, endedS } })
    const ended = times('8', MADE_S - 600, MADE_S - 27)
    const open = times('9', MADE_S - 27, null)
    const later = times('10', MADE_S + 30, null)
    t.equal(strengthOf(fold(), ended), '8 payback 1', 'clocks differ')
    t.equal(strengthOf(fold(), ended, open), '9 payback 1')
    t.equal(strengthOf(fold(), ended, later), '10 payback 1', 'clocks differ where a loan begins, too')
    t.equal(strengthOf(fold(), open, later), 'none', 'it may have been for the one or the other')
    t.equal(strengthOf(fold(), ended, times('11', MADE_S - 300, MADE_S)), 'none', 'both had ended')
    const many = Array.from({ length: 1000 }, (_, index) => times(`${index + 100}`, MADE_S - 600, MADE_S - 1))
    t.equal(strengthOf(fold(), ...many, open), '9 payback 1', 'however many had ended shortly before')
    t.same(linkChannel(fold(), indexLoans([...many, open]), NONE).claimants, [
      'FILERC20/100',
      'FILERC20/1000',
      'FILERC20/9',
    ])
    t.end()
  },
)

void t.test('a secret hash counts from the party that has to sign it', (t) => {
  const known = offer({
    borrower: name(BORROWER),
    secretHashA1: HASH_A1,
    times: { openedS: null, agreedS: null, endedS: null },
  })
  t.equal(strengthOf(fold(signed(HASH_A1, BORROWER)), known), '7 collateral 3')
  t.equal(strengthOf(fold(signed(HASH_A1, LENDER)), known), 'none')
  t.equal(strengthOf(fold(signed(HASH_B1, LENDER, '0')), known), '7 collateral 3')
  t.equal(strengthOf(fold(signed(HASH_B1, BORROWER)), known), 'none')
  t.equal(strengthOf(fold(signed(HASH_A1, STRANGER)), known), 'none', 'a stranger’s voucher is none')
  t.end()
})

void t.test('principal and payback of a FIL loan', (t) => {
  const payback = lock()
  t.equal(strengthOf(fold(), payback), '7 payback 1')
  t.equal(strengthOf(fold(signed(HASH_B1, BORROWER)), payback), '7 payback 3')
  t.equal(
    strengthOf(fold(), lock({ times: { openedS: 0, agreedS: null, endedS: null } })),
    'none',
    'not locked',
  )
  const swapped = {
    borrower: name(LENDER),
    lender: null,
    times: { openedS: MADE_S - 60, agreedS: null, endedS: null },
  }
  t.equal(strengthOf(fold(), lock(swapped)), '7 principal 1')
  t.equal(strengthOf(fold(), lock({ ...swapped, requestedAttoFil: VALUE + 1n })), 'none', 'another amount')
  t.equal(
    strengthOf(fold(fundChannel({ height: 1001, to: ROBUST })), lock(swapped)),
    '7 principal 1',
    'a stranger’s top-up changes nothing',
  )
  t.equal(
    strengthOf(fold(), lock({ ...swapped, lender: name(BORROWER), namedChannel: canonicalAddress(ROBUST) })),
    '7 principal 4',
  )
  t.equal(
    strengthOf(fold(), offer(), payback),
    'none',
    'collateral of the one or payback of the other: nobody knows',
  )
  t.end()
})

void t.test('an address in a contract is its text, and anything else is none', (t) => {
  const hex = (text: string): string => `0x${Buffer.from(text, 'latin1').toString('hex')}`
  t.equal(addressIn(hex('t01234'.padEnd(32, '\0'))), 'f01234')
  t.equal(addressIn(hex(LENDER.asWritten)), name(LENDER))
  for (const garbage of [
    '',
    '\0'.repeat(32),
    't0',
    'T01234',
    ' t01234',
    't01234\0x',
    '\xff\xfe',
    'x'.repeat(10_000),
  ])
    t.equal(addressIn(hex(garbage)), null, garbage.slice(0, 20))
  t.equal(addressIn(null), null)
  t.end()
})
