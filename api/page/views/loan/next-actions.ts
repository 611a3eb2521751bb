/** (pure) The order of a loan's actions, and their times in words. Moments are Unix milliseconds. */
import type { LoanAction } from '../../../../client/generated/types.gen.ts'
import { ACTION_WORDS, servesStep, type ActionName } from './action-words.ts'
import { chainNow, countdown } from './countdown.ts'
import type { LinkedChannel } from './loan-model.ts'

export interface ShownAction {
  /** Tells one entry from the others of the loan. */
  key: string
  name: ActionName
  title: string
  note: string
  actor: 'borrower' | 'lender'
  address: string | null
  chain: string
  /** It brings the current step forward. */
  isPlanned: boolean
  /** It can be taken now. */
  isOpen: boolean
  /** Its time has run out. */
  isOver: boolean
  /** The end of its time, or the beginning of what comes later. */
  limit: number | null
  /** A block or epoch beside the limit; blocks are estimates. */
  height: string | null
  /** The present by the chain's clock. */
  now: number
}

export function shownActions(
  actions: readonly LoanAction[],
  step: string,
  seenAt: number,
  now: number,
  channels: readonly LinkedChannel[] = [],
): ShownAction[] {
  return actions
    .map((action) => {
      const isEarly =
        action.action.startsWith('settle') && !channels.some((channel) => mayClose(channel, action.action))
      return shown(action, servesStep(step, action.action) && !isEarly, seenAt, now)
    })
    .sort(byUrgency)
}

/** States in which the role's voucher has been redeemed: whoever closes the channel earlier puts its money at risk. */
const REDEEMED: Record<LinkedChannel['role'], readonly string[]> = {
  collateral: ['3', '6'],
  principal: ['2'],
  payback: ['2'],
}

function mayClose({ role, state }: LinkedChannel, action: ActionName): boolean {
  return action.slice('settle'.length).toLowerCase() === role && REDEEMED[role].includes(state)
}

function shown(action: LoanAction, isPlanned: boolean, seenAt: number, now: number): ShownAction {
  const known = ACTION_WORDS[action.action] as (typeof ACTION_WORDS)[ActionName] | undefined
  const from = momentOf(action.notBefore)
  const until = momentOf(action.notAfter)
  const chainTime = chainNow(momentOf(action.basis), seenAt, now)
  const isOver = until !== null && until <= chainTime
  const isLater = !isOver && from !== null && from > chainTime
  return {
    key: `${action.actor} ${action.action} ${action.chain}`,
    name: action.action,
    title: known?.title ?? action.action,
    note: known?.note ?? '',
    actor: action.actor,
    address: action.address,
    chain: action.chain,
    isPlanned,
    isOpen: !isOver && !isLater,
    isOver,
    limit: isLater ? from : until,
    height: heightOf(isLater ? action.notBefore : action.notAfter),
    now: chainTime,
  }
}

/** Sorts by whether an action is possible now, later or never again, then by the plan, then by deadline. */
export function byUrgency(one: ShownAction, other: ShownAction): number {
  return (
    Number(other.isOpen) - Number(one.isOpen) ||
    Number(one.isOver) - Number(other.isOver) ||
    Number(other.isPlanned) - Number(one.isPlanned) ||
    compareMoments(one.limit, other.limit) ||
    compareText(one.key, other.key)
  )
}

/** A missing moment is later than any other. */
export function compareMoments(one: number | null, other: number | null): number {
  if (one === other) return 0
  if (one === null) return 1
  if (other === null) return -1
  return one - other
}

function compareText(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

/** One line for people: when the action can be taken. The exact moment stands beside it. */
export function whenText({ isOpen, isOver, limit, now }: ShownAction): string {
  if (isOver) return 'the time has run out'
  if (limit === null) return 'now, without a time limit'
  return `${isOpen ? 'now, time runs out' : 'possible'} ${countdown(limit, now)}`
}

export function momentOf(time: { time: string } | null): number | null {
  return time === null ? null : Date.parse(time.time)
}

function heightOf(time: LoanAction['notAfter']): string | null {
  if (time === null) return null
  if ('epoch' in time) return `epoch ${time.epoch}`
  return time.block === null ? null : `about block ${time.block}`
}
