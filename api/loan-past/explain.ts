import { partOf, sideOf, type LoanSide } from '../../shared/channels/channel-parts.evolve.ts'
import { evolveChannel, type Channel } from '../../shared/channels/channel.evolve.ts'
import type { HeldEntry } from '../../shared/events/log-entry.ts'
import { isEvmEvent } from '../../shared/events/chain-event.ts'
import { naturalKey, networkIdOf } from '../../shared/events/natural-key.ts'
import { evolveLoan, type Loan } from '../../shared/loans/loans.evolve.ts'
import type { ChannelAt, LoanAt } from './loan-at.ts'

/** (pure) The records that set each field of a loan's parts. */

/** Ids of records by field, oldest change first; a field that was never set is missing. */
export type Explained = Record<string, number[]>

/** The records of a loan's channels by their natural keys. */
export type RecordsByKey = ReadonlyMap<string, number>

/** The ids of a record that an entry's events make: this times its position. */
const IDS_PER_ENTRY = 1_000_000

type Fields = Record<string, string | null>

/** Folds the contract's half again and notes which event changed which field. */
export function explainContract({ held }: LoanAt): Explained {
  const explained: Explained = {}
  let loan: Loan | undefined
  for (const entry of held) {
    const before = loan?.part
    loan = evolveLoan(loan, entry)
    note(explained, before, loan?.part, [recordIdOf(entry)])
  }
  return explained
}

/**
 * Folds a channel's half again: its creation first, then what the loan's contract adds, then the channel's further
 * messages and vouchers. A field that both tell is thereby the contract's.
 */
export function explainChannel(
  at: LoanAt,
  { role, network, channel: whole, held }: ChannelAt,
  records: RecordsByKey,
): Explained {
  const explained: Explained = {}
  let before: Fields = {}
  let channel: Channel | undefined
  let side: LoanSide = { ...NOBODY, facts: { ...NOBODY.facts, loanType: at.loan.loanType } }
  const become = (ids: number[]): void => {
    if (channel === undefined) return
    const { part } = partOf(role, channel, side, networkIdOf(network))
    note(explained, before, part, ids)
    before = part
  }
  const isCreation = ({ event }: HeldEntry): boolean => event.kind === 'CreateChannel'
  for (const entry of held.filter(isCreation)) {
    channel = evolveChannel(channel, entry)
    become(recordsOf(entry, whole.robust, records))
  }
  let loan: Loan | undefined
  for (const entry of at.held) {
    loan = evolveLoan(loan, entry)
    if (loan !== undefined) side = sideOf(loan)
    become([recordIdOf(entry)])
  }
  for (const entry of held.filter((one) => !isCreation(one))) {
    channel = evolveChannel(channel, entry)
    become(recordsOf(entry, whole.robust, records))
  }
  return explained
}

/** A loan of which nothing is known; empty texts are as unset as null. */
const NOBODY: LoanSide = {
  facts: {
    ...{ loanType: 'ERC20FIL', loanId: '', contractLoanId: '', contract: '', networkId: '' },
    ...{ namedChannel: null, borrower: null, lender: null, secretHashA1: null, secretHashB1: null },
    ...{ requestedAttoFil: null, times: { openedS: null, agreedS: null, endedS: null } },
  },
  ...{ borrower: null, lender: null, secretA1: null, secretB1: null, principalAmount: null },
}

/** Adds the ids to each field that changed. A field that became unknown again keeps what set it before. */
function note(
  explained: Explained,
  before: object | undefined,
  after: object | undefined,
  ids: number[],
): void {
  const earlier: Fields = { ...before }
  for (const [name, value] of Object.entries<string | null>({ ...after })) {
    if (value === null || value === '' || value === earlier[name]) continue
    explained[name] = [...new Set([...(explained[name] ?? []), ...ids])]
  }
}

/** The entry that appended the event gave its record the id. */
function recordIdOf({ origin, position }: HeldEntry): number {
  return (origin ?? position) * IDS_PER_ENTRY
}

/** A redemption also makes the record of a voucher that nobody handed in. Adding funds makes none. */
function recordsOf({ event }: HeldEntry, robust: string, records: RecordsByKey): number[] {
  if (isEvmEvent(event)) return []
  const own = records.get(naturalKey(event))
  const ids = own === undefined ? [] : [own]
  if (event.kind !== 'UpdateChannel' && event.kind !== 'SignedVoucher') return ids
  const signed = (['from', 'recipient'] as const).flatMap(
    (party) => records.get(`sign/${robust}/${event.voucher.key}/${party}`) ?? [],
  )
  return [...signed, ...ids]
}
