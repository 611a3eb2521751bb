/** The longest pause that a receiver can ask for. */
const LONGEST_PAUSE_MS = 5 * 60_000
/** Statuses with which a receiver can ask for a pause. */
const PAUSING = [429, 503]

/** The answer of a receiver that did not take a message. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  /** Milliseconds for which the receiver asks to get nothing; 0 if it does not. */
  readonly pauseMs: number

  constructor(status: number, retryAfter: string | null) {
    super(`the receiver answered ${status}`)
    this.status = status
    this.pauseMs = PAUSING.includes(status) ? pauseOf(retryAfter, Date.now()) : 0
  }

  /** 410: the receiver wants no message any more. */
  get isGone(): boolean {
    return this.status === 410
  }
}

/** `retryAfter` is a number of seconds or an HTTP date; anything else asks for nothing. Bounded. */
export function pauseOf(retryAfter: string | null, nowMs: number): number {
  if (retryAfter === null) return 0
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), LONGEST_PAUSE_MS)
}
