import { messageOf, PermanentError, RetryableError } from '../../../shared/errors.ts'
import { pause } from '../../../shared/async/pause.ts'
import { joinNetworks } from './answer-limits.ts'
import { Refusals } from './refusals.ts'
import { BadAnswer, CallFailed, EndpointFault, RateLimited, WrongChain } from './rpc-error.ts'
import { RpcEndpoint, type EndpointOptions } from './rpc-endpoint.ts'

/** What an operator should know: said when it happens, never with a URL. */
export type Report = (level: 'warn' | 'info', message: string) => void

export interface ClientOptions extends EndpointOptions {
  /** The network's key, for messages. */
  network: string
  /** What tells this chain from others: its name (`chain id`) and the value that must be found. */
  identity: { what: string; expected: string }
  /** Throws a WrongChain when the endpoint is of another chain, and any RetryableError when it cannot tell. */
  verify: (endpoint: RpcEndpoint) => Promise<void>
  report: Report
  /** How long what the others no longer have waits for an endpoint that may have it; see `askEveryone`. */
  patienceMs?: number
}

export interface ReadOptions {
  /** How many endpoints are tried, one after another, before the failure is told. */
  attempts?: number
  /** Endpoints that must not answer this. */
  excluding?: readonly RpcEndpoint[]
}

interface Member {
  endpoint: RpcEndpoint
  strikes: number
  /** Ms of the monotonic clock. */
  asideUntil: number
  /** What was found, while it is another chain's: then it is asked for nothing but its chain. */
  wrongChain: string | null
  verified: Promise<void> | null
}

const FIRST_ASIDE_MS = 250
const LONGEST_ASIDE_MS = 30_000
/** Of an endpoint that has no other beside it. */
const LONGEST_ASIDE_ALONE_MS = 5_000
/** How long a first question waits for an endpoint to come back, and how long one that was refused already. */
const LONGEST_WAIT_MS = 6_000
const LONGEST_FURTHER_WAIT_MS = 600
/** Longer than any endpoint is put aside or may ask not to be asked: it is asked once more before it is given up. */
const PATIENCE_MS = 90_000

/**
 * Several endpoints of one chain as one. An endpoint that fails or answers untruly is put aside, for longer each
 * time, and comes back; before its first use, and before its use after that, its chain is verified.
 */
export class RpcClient {
  /** Calls that endpoints refused without an answer. */
  readonly refusals = new Refusals()
  /** Who was waited for in vain; see `askEveryone`. */
  readonly givenUp = new Set<RpcEndpoint>()
  readonly patienceMs: number
  /** Endpoints that lack blocks which others have, with their heads: asked only where none of the others is there. */
  readonly behind = new Map<RpcEndpoint, number>()
  readonly #members: Member[]
  readonly #options: ClientOptions
  readonly #closing = new AbortController()
  readonly #leaveNetworks = joinNetworks()
  /** An endpoint was of the right chain once: then the configuration is no mistake. */
  #wasRight = false

  constructor(urls: readonly string[], options: ClientOptions) {
    this.#options = options
    this.patienceMs = options.patienceMs ?? PATIENCE_MS
    const onLearned = (message: string): void => this.say(message)
    this.#members = urls.map((url) => ({
      endpoint: new RpcEndpoint(url, { ...options, onLearned }),
      strikes: 0,
      asideUntil: 0,
      wrongChain: null,
      verified: null,
    }))
  }

  /** Endpoints of the right chain that are not put aside now. */
  available(): RpcEndpoint[] {
    const now = performance.now()
    const ready = this.#members.filter((member) => member.wrongChain === null && readyAt(member) <= now)
    return ready.map((member) => member.endpoint)
  }

  /** The others of the right chain, also those that are put aside now. */
  others(...than: readonly RpcEndpoint[]): RpcEndpoint[] {
    const others = this.#members.filter(
      ({ endpoint, wrongChain }) => !than.includes(endpoint) && wrongChain === null,
    )
    return others.map((member) => member.endpoint)
  }

  /** Aborted by `close`. */
  get closed(): AbortSignal {
    return this.#closing.signal
  }

  /**
   * Runs `task` on an endpoint, and on another one when that fails. Throws a RetryableError with what every
   * endpoint said, and a PermanentError when all endpoints are of another chain and none was ever of the right one.
   */
  async read<T>(
    what: string,
    task: (endpoint: RpcEndpoint, attempt: number) => Promise<T>,
    options: ReadOptions = {},
  ): Promise<T> {
    const attempts = options.attempts ?? Math.max(3, this.#members.length * 2)
    const tried = new Set<Member>()
    const failures = new Map<Member, RetryableError>()
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const member = await this.#choose(tried, options.excluding ?? [])
      if (member === null) break
      try {
        await this.#verify(member)
        const result = await task(member.endpoint, attempt)
        member.strikes = Math.floor(member.strikes / 2)
        return result
      } catch (error) {
        if (!(error instanceof RetryableError)) throw error
        this.#judge(member, error)
        tried.add(member)
        failures.set(member, error)
        if (error instanceof CallFailed && tried.size >= this.#members.length && attempt < attempts) {
          await pause(100 * attempt, this.#closing.signal)
        }
      }
    }
    const message = `${this.#options.network}: ${what}: ${this.#told(failures)}`
    throw new RetryableError(message, { cause: new AggregateError(failures.values()) })
  }

  /** The endpoint said what cannot be true: put aside. */
  distrust(endpoint: RpcEndpoint, reason: string): void {
    const member = this.#members.find((candidate) => candidate.endpoint === endpoint)
    if (member !== undefined) this.#judge(member, new BadAnswer(reason))
  }

  close(): void {
    if (!this.#closing.signal.aborted) this.#leaveNetworks()
    this.#closing.abort()
    for (const { endpoint } of this.#members) endpoint.close()
  }

  /**
   * The least busy endpoint that was not tried yet, else one that was, and one that is behind only where there is no other;
   * waits for one to come back, but not long. An endpoint of another chain is looked at again where nobody else is there.
   */
  async #choose(tried: ReadonlySet<Member>, excluding: readonly RpcEndpoint[]): Promise<Member | null> {
    const allowed = this.#members.filter((member) => !excluding.includes(member.endpoint))
    const right = allowed.filter(({ wrongChain }) => wrongChain === null)
    const now = performance.now()
    const ready = right.filter((member) => readyAt(member) <= now)
    const fresh = ready.filter((member) => !tried.has(member))
    const candidates = fresh.length > 0 ? fresh : ready
    const best =
      leastBusy(candidates.filter(({ endpoint }) => !this.behind.has(endpoint))) ?? leastBusy(candidates)
    if (best !== null) return best
    const soonest = right.reduce<Member | null>(
      (left, other) => (left === null || readyAt(other) < readyAt(left) ? other : left),
      null,
    )
    const patienceMs = tried.size === 0 ? LONGEST_WAIT_MS : LONGEST_FURTHER_WAIT_MS
    if (soonest === null || readyAt(soonest) - now > patienceMs) return this.#ofAnotherChain(allowed, now)
    await pause(readyAt(soonest) - now, this.#closing.signal)
    return this.#closing.signal.aborted ? null : soonest
  }

  #ofAnotherChain(allowed: readonly Member[], now: number): Member | null {
    const due = allowed.find((member) => member.wrongChain !== null && readyAt(member) <= now)
    if (due !== undefined) return due
    if (this.#members.every(({ wrongChain }) => wrongChain !== null)) throw this.#allWrong()
    return null
  }

  async #verify(member: Member): Promise<void> {
    member.verified ??= this.#options.verify(member.endpoint).catch((error: unknown) => {
      member.verified = null
      throw error
    })
    await member.verified
    this.#wasRight = true
    if (member.wrongChain === null) return
    member.wrongChain = null
    this.say(`${member.endpoint.label} is of the right chain now`)
  }

  #judge(member: Member, error: RetryableError): void {
    if (error instanceof WrongChain) {
      const isNews = member.wrongChain === null
      member.wrongChain = error.found
      member.asideUntil = performance.now() + this.#longestAsideMs()
      if (isNews)
        this.say(
          `${member.endpoint.label} is asked for nothing until it is of the right chain: ${messageOf(error)}`,
        )
      return
    }
    if (error instanceof RateLimited || error instanceof CallFailed || this.#closing.signal.aborted) return
    const now = performance.now()
    if (member.asideUntil > now) return
    const base = error instanceof EndpointFault ? FIRST_ASIDE_MS : FIRST_ASIDE_MS * 2
    const asideMs = Math.min(this.#longestAsideMs(), base * 2 ** Math.min(member.strikes, 20))
    member.strikes += 1
    member.asideUntil = now + asideMs
    member.verified = null
    this.say(`${member.endpoint.label} is put aside for ${asideMs} ms: ${messageOf(error)}`)
  }

  /** With nobody else to ask an endpoint is not left alone for long; and final blocks wait for a second one. */
  #longestAsideMs(): number {
    const usable = this.#members.filter((member) => member.wrongChain === null).length
    return usable > 1 ? LONGEST_ASIDE_MS : LONGEST_ASIDE_ALONE_MS
  }

  /** Tells an operator; never with a URL. */
  say(message: string): void {
    this.#options.report('warn', `${this.#options.network}: ${message}`)
  }

  #allWrong(): PermanentError | RetryableError {
    const found = this.#members
      .map((member) => `${member.wrongChain ?? 'none'} at ${this.#nameOf(member)}`)
      .join(', ')
    const { what, expected } = this.#options.identity
    const message = `${this.#options.network}: wrong ${what}: expected ${expected}, found ${found}`
    return this.#wasRight ? new RetryableError(message) : new PermanentError(message)
  }

  #told(failures: ReadonlyMap<Member, RetryableError>): string {
    const said = [...failures].map(([member, error]) => `${this.#nameOf(member)}: ${messageOf(error)}`)
    const now = performance.now()
    const silent = this.#members
      .filter((member) => !failures.has(member) && readyAt(member) > now)
      .map((member) => `${this.#nameOf(member)}: ${this.#whyUnasked(member, now)}`)
    return [...said, ...silent].join('; ')
  }

  /** Its place in the configuration, which public answers show, and its label, which they do not. */
  #nameOf(member: Member): string {
    return `endpoint ${this.#members.indexOf(member) + 1} (${member.endpoint.label})`
  }

  #whyUnasked({ endpoint, asideUntil, wrongChain }: Member, now: number): string {
    if (wrongChain !== null) return `${this.#options.identity.what} ${wrongChain}`
    const { pausedUntil } = endpoint.governor
    if (asideUntil > pausedUntil) return 'put aside'
    const leftS = Math.ceil((pausedUntil - now) / 1000)
    return `rate limited: it asked to be left alone for ${leftS} s more`
  }
}

function readyAt(member: Member): number {
  return Math.max(member.asideUntil, member.endpoint.governor.pausedUntil)
}

function leastBusy(members: readonly Member[]): Member | null {
  return members.reduce<Member | null>(
    (best, member) =>
      best === null || member.endpoint.governor.active < best.endpoint.governor.active ? member : best,
    null,
  )
}
