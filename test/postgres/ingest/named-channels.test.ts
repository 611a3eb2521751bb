import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { STRENGTH } from '../../../indexer/projections/links/link.evolve.ts'
import type { Db } from '../../../shared/db/connect.ts'
import type { ChainEvent, EvmLoanEvent } from '../../../shared/events/chain-event.ts'
import type { BlockHeader, BlockRef, ChainStep } from '../../../shared/events/chain-step.ts'
import { makeChannel, signedVoucher, voucherFacts } from '../../helpers/channel-events.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM, FILECOIN, handIn } from '../../helpers/ingest-ledger.ts'
import { hash } from '../../helpers/random-chain.ts'
import { channelAddress, person } from '../../helpers/two-chain-stories.ts'
import { cases } from '../../helpers/cases.ts'

/** Which loan a channel belongs to, while contracts name channels that are theirs, others' or nobody's. */

interface LoanFact {
  lender: number
  borrower: number
  /** The number that the contract names; null: the offer is not approved. */
  named: number | null
}
interface ChannelFact {
  from: number
  to: number
  id: number
  /** Its maker signed a voucher with this loan's hash A1. */
  signedFor: number | null
}
interface World {
  loans: LoanFact[]
  channels: ChannelFact[]
}

const MADE_HEIGHT = 3_333_340
const OPENED_S = 1_600_000_000 + MADE_HEIGHT * 30 - 3600
const CONTRACT = '0x00000000000000000000000000000000000000C0'
const hashA1 = (loan: number): string => hash('a1', loan)
const idText = (id: number): string => `t0${1_000_000 + id}`
const hexText = (text: string, bytes?: number): string =>
  `0x${Buffer.from(text)
    .toString('hex')
    .padEnd((bytes ?? 0) * 2, '0')}`
const robustOf = (channel: number): string => channelAddress(`channel ${channel}`)

/** Mostly the same two, so that channels and loans fit. */
const usually = (one: number): fc.Arbitrary<number> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(one) }, { weight: 1, arbitrary: fc.nat({ max: 2 }) })
const [lender, borrower] = [usually(0), usually(1)]
const number = fc.nat({ max: 3 })
const loanFact: fc.Arbitrary<LoanFact> = fc.record({
  lender,
  borrower,
  named: fc.option(number, { freq: 6 }),
})
/** Each of the numbers once at most, as on a chain. */
const channelFacts = (length: number): fc.Arbitrary<ChannelFact[]> =>
  fc
    .tuple(
      fc.shuffledSubarray([0, 1, 2, 3], { minLength: length, maxLength: length }),
      fc.array(
        fc.record({ from: borrower, to: lender, signedFor: fc.option(fc.nat({ max: 2 }), { freq: 2 }) }),
        { minLength: length, maxLength: length },
      ),
    )
    .map(([ids, parties]) => parties.map((party, index) => ({ ...party, id: ids[index] ?? 0 })))

/** Lasting steps, and the branches of both ledgers that the last steps replace. */
const history = fc.record({
  loans: fc.array(loanFact, { minLength: 1, maxLength: 3 }),
  leftLoans: fc.option(fc.array(loanFact, { minLength: 3, maxLength: 3 })),
  channels: fc.integer({ min: 1, max: 3 }).chain(channelFacts),
  leftChannels: fc.option(channelFacts(3)),
  order: fc.array(fc.nat({ max: 2 }), { minLength: 14, maxLength: 14 }),
})

function offers(loans: readonly LoanFact[]): ChainEvent[] {
  return loans.map(({ lender }, loan) => ({
    ...evmPlace(loan, 1),
    kind: 'CreateLoanOffer',
    args: { lender: `0x${'e'.repeat(40)}`, principal: '1', token: CONTRACT },
    terms: {
      values: {
        ...{ secretHashB1: hash('b1', loan), filLender: hexText(person(`p${lender}`).asWritten) },
        ...{ interest: '1', loanExpirationPeriod: '60' },
      },
    },
  }))
}

function approvals(loans: readonly LoanFact[], branch: string): ChainEvent[] {
  return loans.flatMap(({ borrower, named }, loan): ChainEvent[] =>
    named === null
      ? []
      : [
          {
            ...evmPlace(loan, 2, branch),
            kind: 'ApproveRequest',
            args: {
              ...{ borrower: `0x${'b'.repeat(40)}`, filBorrower: hexText(person(`p${borrower}`).asWritten) },
              ...{ secretHashA1: hashA1(loan), paymentChannelId: hexText(idText(named), 32) },
              collateralAmount: '1',
            },
            terms: { values: { loanExpiration: '1', acceptExpiration: '2' } },
          },
        ],
  )
}

function evmPlace(loan: number, blockNumber: number, branch = '') {
  const place: Omit<EvmLoanEvent, 'kind' | 'args' | 'terms'> = {
    ...{
      blockNumber,
      blockHash: `evm-${blockNumber}${branch}`,
      blockTimeS: OPENED_S + blockNumber * 7200 - 7200,
    },
    ...{ txHash: hash('tx', loan, blockNumber), logIndex: loan, txLogIndex: 0 },
    ...{ contract: CONTRACT, role: 'erc20Loans', contractLoanId: String(loan), loanId: String(loan) },
    tokenDecimals: 18,
  }
  return { ...place, role: 'erc20Loans' as const }
}

function creations(channels: readonly ChannelFact[], branch: string): ChainEvent[] {
  return channels.map(({ from, to, id }, channel) => ({
    ...makeChannel({
      ...{ height: MADE_HEIGHT + channel, cid: `cid-${channel}`, channel: robustOf(channel) },
      ...{ channelId: idText(id), from: person(`p${from}`), recipient: person(`p${to}`) },
    }),
    blockHash: `fil-${channel}${branch}`,
  }))
}

/** One ledger: steps to be taken one after the other; a branch that is left is replaced by the next step. */
async function ledger(db: Db, identity: typeof EVM) {
  const epoch = await raiseEpoch(db, identity.network, 'writer', { startNumber: 0, watched: {} })
  let after: BlockRef | null = null
  return async (
    number: number,
    hashText: string,
    events: ChainEvent[],
    replaces?: BlockRef,
  ): Promise<void> => {
    const to: BlockHeader = { number, hash: hashText, parentHash: '', timeS: 0 }
    const read = { to, headers: [to], events, evidence: [] }
    const from = after === null ? 0 : after.number + 1
    const step: ChainStep =
      replaces === undefined || after === null
        ? { type: 'blocks', from, after, ...read }
        : { type: 'reorg', ancestor: after, replaces, ...read }
    const outcome = await ingestStep(db, identity, epoch, step)
    if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
    if (!hashText.endsWith('left')) after = { number, hash: hashText }
  }
}

/** The channel that the contract names comes after another one that would be the loan's without it. */
const LATE_CHANNEL = {
  loans: [{ lender: 0, borrower: 1, named: 2 }],
  leftLoans: null,
  channels: [
    { from: 1, to: 0, id: 0, signedFor: null },
    { from: 1, to: 0, id: 2, signedFor: null },
  ],
  leftChannels: null,
  order: [0, 0, 1, 1, 1],
}

type Step = () => Promise<void>

async function play(db: Db, given: typeof history extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
  const evm = await ledger(db, EVM)
  const filecoin = await ledger(db, FILECOIN)
  const { loans, leftLoans, channels, leftChannels } = given
  const left = (number: number, name: string): BlockRef => ({ number, hash: `${name}left` })
  const leftApprovals = loans.map((loan, index) => ({ ...loan, ...pick(leftLoans?.[index]) }))
  const evmSteps: Step[] = [() => evm(1, 'evm-1', offers(loans))]
  if (leftLoans !== null) evmSteps.push(() => evm(2, 'evm-2left', approvals(leftApprovals, 'left')))
  evmSteps.push(() =>
    evm(2, 'evm-2', approvals(loans, ''), leftLoans === null ? undefined : left(2, 'evm-2')),
  )
  // One by one: a channel that a contract names can come after one that would be the loan's without it.
  const filSteps: Step[] = [() => filecoin(1, 'fil-first', [])]
  const last = MADE_HEIGHT + 2
  if (leftChannels !== null) filSteps.push(() => filecoin(last, 'fil-2left', creations(leftChannels, 'left')))
  for (const [index, creation] of creations(channels, '').entries()) {
    const replaced = leftChannels === null || index > 0 ? undefined : left(last, 'fil-2')
    filSteps.push(() => filecoin(MADE_HEIGHT + index, `fil-${index}`, [creation], replaced))
  }
  const signed: Step[] = channels.flatMap(({ from, signedFor }, channel) => {
    if (signedFor === null) return []
    const secretHash = hashA1(signedFor)
    const facts = voucherFacts({
      key: hash('v', channel).slice(2),
      channelAddr: robustOf(channel),
      secretHash,
    })
    return [() => handIn(db, [signedVoucher(robustOf(channel), person(`p${from}`).asWritten, facts)])]
  })
  const queues = [evmSteps, filSteps, signed]
  for (const next of given.order) await queues[next]?.shift()?.()
  for (const queue of queues) for (const step of queue) await step()
}

/** On a branch that is left, the approval may name another channel and another borrower; the offer is the same. */
function pick(fact: LoanFact | undefined): Partial<LoanFact> {
  return fact === undefined ? {} : { borrower: fact.borrower, named: fact.named }
}

/** protocol.md section 5, of the facts alone: `loan strength`, 'none', or null where claims of two contracts compete. */
function rule({ loans, channels }: World, channel: ChannelFact): string | null {
  const mayBe = (loan: LoanFact, other: ChannelFact): boolean =>
    other.to === loan.lender && (loan.named === null || other.from === loan.borrower)
  const claims = loans.flatMap((loan, number): { number: number; strength: number }[] => {
    if (!mayBe(loan, channel)) return []
    const named = channels.find(({ id }) => id === loan.named)
    if (named !== undefined && mayBe(loan, named))
      return named === channel ? [{ number, strength: STRENGTH.contract }] : []
    if (loan.named !== null && channel.signedFor === number)
      return [{ number, strength: STRENGTH.secretHash }]
    return [{ number, strength: STRENGTH.parties }]
  })
  const most = Math.max(0, ...claims.map(({ strength }) => strength))
  const [best, second] = claims.filter(({ strength }) => strength === most)
  if (best === undefined) return 'none'
  if (second !== undefined) return most === STRENGTH.contract ? null : 'none'
  return `${best.number} ${best.strength}`
}

void t.test(
  'whatever the order of facts and reorgs, links are what the rule says of what lasts',
  async (t) => {
    let compared = 0
    await fc.assert(
      fc.asyncProperty(history, async (given) => {
        const { db } = await testDatabase(t)
        await play(db, given)
        const { rows } = await sql<{ robust: string; loan_id: string | null; strength: number | null }>`
        select robust, loan_id, strength from projection.channels`.execute(db)
        t.equal(rows.length, given.channels.length)
        for (const [index, channel] of given.channels.entries()) {
          const row = rows.find(({ robust }) => robust === robustOf(index))
          const wanted = rule(given, channel)
          if (wanted === null) continue
          const found = row?.loan_id == null ? 'none' : `${row.loan_id} ${row.strength ?? '?'}`
          if (found !== wanted) throw new Error(`channel ${index}: ${found} instead of ${wanted}`)
          compared += 1
        }
        const before = await digestReadModel(db)
        await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
        t.strictSame(await digestReadModel(db), before, 'the same again by a replay')
      }),
      { numRuns: cases(25), examples: [[LATE_CHANNEL]] },
    )
    t.ok(compared >= cases(25), `${compared} channels`)
  },
)
