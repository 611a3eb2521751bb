/** (pure) A loan's records as columns of one timeline, and the links between its two chains. */
import type { ActivityRecord, LoanVoucher } from '../../../../client/generated/types.gen.ts'
import { eventWords, isOffChain, type EventWords } from './event-words.ts'
import type { LinkedChannel, LoanModel, Secret } from './loan-model.ts'

export interface Column {
  record: ActivityRecord
  lane: 'evm' | 'filecoin'
  isOffChain: boolean
  words: EventWords
}

/** Joins two columns, given by their indexes. */
export interface ChainLink {
  from: number
  to: number
  kind: 'channel' | 'secret'
  /** Short enough to stand on the line. */
  label: string
  /** The reason that the two belong together. */
  why: string
  /** A later fact can still move the channel to another loan. */
  isProvisional: boolean
}

export function columnsOf(events: readonly ActivityRecord[]): Column[] {
  return events.map((record) => ({
    record,
    lane: record.blockchain === 'FIL' ? 'filecoin' : 'evm',
    isOffChain: isOffChain(record.event),
    words: eventWords(record.event),
  }))
}

const CREATIONS: Record<LinkedChannel['role'], string> = {
  collateral: 'LendERC20/LockCollateral',
  principal: 'LendFIL/CreatePaymentChannel',
  payback: 'LendFIL/PaybackPaymentChannel',
}

/** The owner's own act shows a secret; the other party's act uses it. */
const SECRET_EVENTS: Record<Secret['name'], { shown: readonly string[]; used: readonly string[] }> = {
  A1: {
    shown: ['Withdraw', 'LendFIL/RedeemWithdrawVoucher', 'CancelBorrowRequest'],
    used: ['LendERC20/RedeemSeizeCollateralVoucher', 'SeizeCollateral'],
  },
  B1: {
    shown: ['AcceptRepayment', 'CancelLoan', 'LendFIL/RedeemPaybackVoucher'],
    used: ['LendERC20/RedeemUnlockCollateralVoucher', 'UnlockCollateral'],
  },
}

export function linksOf(
  loan: LoanModel,
  columns: readonly Column[],
  vouchers: readonly LoanVoucher[],
): ChainLink[] {
  const channels = loan.channels.flatMap((channel) => channelLink(loan, channel, columns, vouchers))
  return [...channels, ...loan.secrets.flatMap((secret) => secretLinks(secret, columns))]
}

function channelLink(
  loan: LoanModel,
  channel: LinkedChannel,
  columns: readonly Column[],
  vouchers: readonly LoanVoucher[],
): ChainLink[] {
  const creation = columns.findIndex(({ record }) => record.event === CREATIONS[channel.role])
  if (creation < 0) return []
  const { label, why, setBy, isProvisional } = reasonOf(loan, channel, vouchers)
  const known = columns.findIndex(({ record, lane }) => lane === 'evm' && record.id === setBy)
  const evm = known >= 0 ? known : columns.findIndex(({ lane }) => lane === 'evm')
  return evm < 0 ? [] : [{ from: evm, to: creation, kind: 'channel', label, why, isProvisional }]
}

/** The strongest reason that the answers show; docs/protocol.md tells their order. */
export function reasonOf(
  loan: LoanModel,
  channel: LinkedChannel,
  vouchers: readonly LoanVoucher[],
): Pick<ChainLink, 'label' | 'why' | 'isProvisional'> & { setBy: number | undefined } {
  const explained = loan.explain[loan.contract.name] ?? {}
  if (loan.namedChannel !== null && [channel.id, channel.address].includes(loan.namedChannel)) {
    return {
      label: 'names the channel',
      why: `The contract names the ${channel.role} channel ${loan.namedChannel}.`,
      isProvisional: false,
      setBy: explained['paymentChannelId']?.at(-1),
    }
  }
  const secret = loan.secrets.find(({ hash }) =>
    vouchers.some(
      ({ channel: { robust }, text, secretHash }) =>
        hash !== null &&
        secretHash === hash &&
        robust === channel.address &&
        text !== null &&
        channel.vouchers.includes(text),
    ),
  )
  if (secret !== undefined) {
    return {
      label: `same secret ${secret.name}`,
      why: `A voucher of the ${channel.role} channel asks for the loan’s own secret ${secret.name}.`,
      isProvisional: false,
      setBy: explained[`secretHash${secret.name}`]?.at(-1),
    }
  }
  return {
    label: 'parties match',
    why: `The parties of the ${channel.role} channel fit this loan alone, or its maker signed a statement. A later fact can still change this link.`,
    isProvisional: true,
    setBy: undefined,
  }
}

function secretLinks(secret: Secret, columns: readonly Column[]): ChainLink[] {
  const { shown, used } = SECRET_EVENTS[secret.name]
  const from = columns.findIndex(({ record }) => shown.includes(record.event))
  const source = columns[from]
  if (source === undefined) return []
  return columns.flatMap((column, to): ChainLink[] => {
    if (column.lane === source.lane || !used.includes(column.record.event)) return []
    const why = `“${source.words.title}” showed secret ${secret.name}; “${column.words.title}” used it on the other chain.`
    return [{ from, to, kind: 'secret', label: `secret ${secret.name}`, why, isProvisional: false }]
  })
}

/** The most columns that are shown at once. */
export const MOST_COLUMNS = 60

/** Returns the first shown column: the newest ones are shown, or those around an older moment. */
export function firstColumn(count: number, selected: number): number {
  const newest = Math.max(0, count - MOST_COLUMNS)
  return selected >= newest ? newest : Math.max(0, selected - Math.floor(MOST_COLUMNS / 2))
}

/** The columns at which a link leaves the upper lane and reaches the lower one. */
export function endsOf(columns: readonly Column[], { from, to }: ChainLink): [top: number, bottom: number] {
  return columns[from]?.lane === 'evm' ? [from, to] : [to, from]
}

/** A place on a link's curve: in columns from the left, and as a share of the height from the top. */
export interface Place {
  x: number
  y: number
}

/** The least width of a column, the distance of the lanes, and the space of a number, as loan.css has them. */
const COLUMN_PX = 97
const GAP_PX = 88
const MARKER_PX = 24

/** Shares of the height at which a link's number may stand, the best one first. */
const SHARES = [0.5, 0.3, 0.7, 0.4, 0.6]

/** Places the number of each link, apart from the other numbers as far as that is possible. */
export function markersOf(columns: readonly Column[], links: readonly ChainLink[]): Place[] {
  const taken: Place[] = []
  for (const link of links) {
    const [top, bottom] = endsOf(columns, link)
    // The horizontal progress of the Bézier curve whose handles are upright.
    const places = SHARES.map((y) => ({ x: top + (bottom - top) * (3 * y ** 2 - 2 * y ** 3), y }))
    taken.push(places.find((place) => taken.every((other) => areApart(place, other))) ?? { x: top, y: 0.5 })
  }
  return taken
}

function areApart(one: Place, other: Place): boolean {
  return Math.hypot((one.x - other.x) * COLUMN_PX, (one.y - other.y) * GAP_PX) > MARKER_PX
}
