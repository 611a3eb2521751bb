import { messageOf, PermanentError, RetryableError } from '../../../shared/errors.ts'
import { pause } from '../../../shared/async/pause.ts'
import { joinNetworks } from './answer-limits.ts'
import type { EndpointWatch } from './endpoint-watch.ts'
import {
  failureOf,
  INITIAL_STATE,
  reduceEndpoint,
  type EndpointEvent,
  type EndpointState,
  type Wait,
} from './endpoint-state.ts'
import { Refusals } from './refusals.ts'
import { BadAnswer, CallFailed, EndpointsFailed, WrongChain } from './rpc-error.ts'
import { RpcEndpoint, type EndpointOptions } from './rpc-endpoint.ts'

/** Reports what an operator should know, when it happens and never with a URL. */
export type Report = (level: 'warn' | 'info', message: string) => void

export interface ClientOptions extends EndpointOptions {
  /** Key of the network, used in messages. */
  network: string
  /** Identity of the chain: its name (`chain id`) and the expected value. */
  identity: { what: string; expected: string }
  /** Throws a WrongChain for an endpoint of another chain, and any RetryableError when it cannot tell. */
  verify: (endpoint: RpcEndpoint) => Promise<void>
  report: Report
  /** Hears what the endpoints do, for metrics. */
  watch?: EndpointWatch | undefined
  /** How long a state that the others pruned waits for an endpoint that may have it; see `askEveryone`. */
  patienceMs?: number
}

/** Settings of a chain's source; each has a default. */
export interface SourceOptions {
  /** Receives messages for an operator, such as endpoints put aside. No message holds a URL. */
  report?: Report
  /** Hears what the endpoints do, for metrics. */
  watch?: EndpointWatch | undefined
  /** Time limit of one HTTP request. */
  requestTimeoutMs?: number
  /** Most HTTP requests under way at once, per endpoint. */
  maxConcurrent?: number
  /** Most calls in one batch. */
  maxBatch?: number
  /** How long final blocks wait for a second endpoint that is away; see `SecondOpinion`. */
  secondPatienceMs?: number
  /** How long an endpoint whose finality certificates failed is not asked for them; see `FinalityCertificates`. */
  certificateRestMs?: number
}

/** The part of a client's options that a source's settings decide. */
export type ClientSettings = Pick<
  ClientOptions,
  'network' | 'report' | 'watch' | 'timeoutMs' | 'maxConcurrent' | 'maxBatch'
>

export function clientSettings(network: string, options: SourceOptions, timeoutMs: number): ClientSettings {
  const {
    report = () => undefined,
    requestTimeoutMs = timeoutMs,
    maxConcurrent = 8,
    maxBatch = 100,
  } = options
  const { watch } = options
  return { network, report, watch, timeoutMs: requestTimeoutMs, maxConcurrent, maxBatch }
}

export interface ReadOptions {
  /** Most attempts, on one endpoint after another, before the failure is thrown. */
  attempts?: number
  /** Endpoints that must not be asked. */
  excluding?: readonly RpcEndpoint[]
}

interface Member {
  endpoint: RpcEndpoint
  state: EndpointState
  verifying: Promise<void> | null
}

const LONGEST_ASIDE_MS = 30_000
/** The same limit for an endpoint without another beside it. */
const LONGEST_ASIDE_ALONE_MS = 5_000
/** How long the first attempt, and each later one, waits for an endpoint to come back. */
const LONGEST_WAIT_MS = 6_000
const LONGEST_FURTHER_WAIT_MS = 600
/** Longer than any endpoint is put aside or paused, so that it is asked once more before it is given up. */
const PATIENCE_MS = 90_000

/**
 * Several endpoints of one chain as one. An endpoint that fails or answers untruly is put aside, longer each time. Its
 * chain is verified before its first use and after each time aside.
 */
export class RpcClient {
  /** Calls that endpoints refused without an answer. */
  readonly refusals = new Refusals()
  readonly patienceMs: number
  readonly #members: Member[]
  readonly #options: ClientOptions
  readonly #closing = new AbortController()
  readonly #leaveNetworks = joinNetworks()
  /** An endpoint had the right chain once, so the configuration is no mistake. */
  #wasRight = false

  constructor(urls: readonly string[], options: ClientOptions) {
    this.#options = options
    this.patienceMs = options.patienceMs ?? PATIENCE_MS
    const onLearned = (message: string): void => this.say(message)
    const { watch } = options
    this.#members = urls.map((url, index) => ({
      endpoint: new RpcEndpoint(url, {
        ...options,
        onLearned,
        onRequest: (calls, ms, failure) => watch?.onRequest(index + 1, calls, ms, failure),
      }),
      state: INITIAL_STATE,
      verifying: null,
    }))
  }

  /** Returns the endpoints of the right chain that are not put aside or paused now. */
  available(): RpcEndpoint[] {
    const now = performance.now()
    const ready = this.#members.filter((member) => member.state.wrongChain === null && readyAt(member) <= now)
    return ready.map((member) => member.endpoint)
  }

  /** Returns the other endpoints of the right chain, including those put aside now. */
  others(...than: readonly RpcEndpoint[]): RpcEndpoint[] {
    const others = this.#members.filter(
      ({ endpoint, state }) => !than.includes(endpoint) && state.wrongChain === null,
    )
    return others.map((member) => member.endpoint)
  }

  /** Returns the other endpoints that were not given up in this kind of wait. */
  awaited(wait: Wait, than: readonly RpcEndpoint[]): RpcEndpoint[] {
    return this.others(...than).filter((endpoint) => !this.#memberOf(endpoint).state.givenUp[wait])
  }

  /** Awaits these endpoints no more until they answer in this kind of wait; `message` says what follows. */
  giveUp(wait: Wait, endpoints: readonly RpcEndpoint[], message: string): void {
    for (const endpoint of endpoints) this.apply(endpoint, { type: 'given up', wait })
    this.say(message)
  }

  /** Aborted by `close`. */
  get closed(): AbortSignal {
    return this.#closing.signal
  }

  /**
   * Runs `task` on an endpoint, and on another one when that fails. Throws a RetryableError that quotes every
   * endpoint's failure. Throws a PermanentError when all endpoints are of another chain and none ever had the right
   * one.
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
        member.state = reduceEndpoint(member.state, { type: 'answered' })
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
    const now = performance.now()
    const silent = this.#members.filter((member) => !failures.has(member) && readyAt(member) > now)
    const message = `${this.#options.network}: ${what}: ${this.#told(failures, silent, now)}`
    const places = [...failures.keys(), ...silent].map((member) => this.#placeOf(member))
    throw new EndpointsFailed(message, places, { cause: new AggregateError(failures.values()) })
  }

  /** Puts the endpoint aside, because its answer cannot be true. */
  distrust(endpoint: RpcEndpoint, reason: string): void {
    this.#judge(this.#memberOf(endpoint), new BadAnswer(reason))
  }

  /** Notes, for metrics, that these endpoints contradict each other. */
  noteDisagreement(...endpoints: readonly RpcEndpoint[]): void {
    for (const endpoint of endpoints)
      this.#options.watch?.onDisagreement(this.#placeOf(this.#memberOf(endpoint)))
  }

  /** Returns the endpoint's state, which {@link RpcClient.apply} changes. */
  stateOf(endpoint: RpcEndpoint): EndpointState {
    return this.#memberOf(endpoint).state
  }

  apply(endpoint: RpcEndpoint, event: EndpointEvent): void {
    const member = this.#memberOf(endpoint)
    member.state = reduceEndpoint(member.state, event)
  }

  #memberOf(endpoint: RpcEndpoint): Member {
    const member = this.#members.find((candidate) => candidate.endpoint === endpoint)
    if (member === undefined) throw new Error(`${endpoint.label} is no endpoint of ${this.#options.network}`)
    return member
  }

  close(): void {
    if (!this.#closing.signal.aborted) this.#leaveNetworks()
    this.#closing.abort()
    for (const { endpoint } of this.#members) endpoint.close()
  }

  /**
   * Returns the least busy endpoint: one not tried yet, if possible, and one that is behind only when no other is left.
   * Waits briefly for one to come back. An endpoint of another chain is verified again when no other is available.
   */
  async #choose(tried: ReadonlySet<Member>, excluding: readonly RpcEndpoint[]): Promise<Member | null> {
    const allowed = this.#members.filter((member) => !excluding.includes(member.endpoint))
    const right = allowed.filter(({ state }) => state.wrongChain === null)
    const now = performance.now()
    const ready = right.filter((member) => readyAt(member) <= now)
    const fresh = ready.filter((member) => !tried.has(member))
    const candidates = fresh.length > 0 ? fresh : ready
    const best = leastBusy(candidates.filter(({ state }) => state.behindAt === null)) ?? leastBusy(candidates)
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
    const due = allowed.find((member) => member.state.wrongChain !== null && readyAt(member) <= now)
    if (due !== undefined) return due
    if (this.#members.every(({ state }) => state.wrongChain !== null)) throw this.#allWrong()
    return null
  }

  async #verify(member: Member): Promise<void> {
    if (!member.state.isVerified) member.verifying ??= this.#verifyChain(member)
    await member.verifying
  }

  async #verifyChain(member: Member): Promise<void> {
    try {
      await this.#options.verify(member.endpoint)
    } finally {
      member.verifying = null
    }
    this.#wasRight = true
    const wasWrong = member.state.wrongChain !== null
    member.state = reduceEndpoint(member.state, { type: 'verified' })
    this.#tellAside(member)
    if (wasWrong) this.say(`${member.endpoint.label} is of the right chain now`)
  }

  #judge(member: Member, error: RetryableError): void {
    if (this.#closing.signal.aborted && !(error instanceof WrongChain)) return
    const before = member.state
    const atMs = performance.now()
    const failure = failureOf(error)
    const event = {
      type: 'failed' as const,
      failure,
      atMs,
      longestAsideMs: this.#longestAsideMs(failure.is === 'wrong chain' ? member : null),
    }
    const { wrongChain, asideUntilMs } = (member.state = reduceEndpoint(before, event))
    this.#tellAside(member)
    if (failure.is === 'untruth') this.noteDisagreement(member.endpoint)
    const { label } = member.endpoint
    if (wrongChain !== null && before.wrongChain === null)
      this.say(`${label} is asked for nothing until it is of the right chain: ${messageOf(error)}`)
    else if (failure.is !== 'wrong chain' && asideUntilMs !== before.asideUntilMs)
      this.say(`${label} is put aside for ${Math.round(asideUntilMs - atMs)} ms: ${messageOf(error)}`)
  }

  #tellAside(member: Member): void {
    const { wrongChain, asideUntilMs } = member.state
    this.#options.watch?.onAside(this.#placeOf(member), wrongChain === null ? asideUntilMs : Infinity)
  }

  /**
   * Both limits are short, because final blocks wait for a second endpoint. The lower one applies when no other
   * endpoint is usable; `lost` is not counted.
   */
  #longestAsideMs(lost: Member | null): number {
    const usable = this.#members.filter(
      (member) => member !== lost && member.state.wrongChain === null,
    ).length
    return usable > 1 ? LONGEST_ASIDE_MS : LONGEST_ASIDE_ALONE_MS
  }

  /** Reports a warning; `message` must not hold a URL. */
  say(message: string): void {
    this.#options.report('warn', `${this.#options.network}: ${message}`)
  }

  #allWrong(): PermanentError | RetryableError {
    const found = this.#members
      .map((member) => `${member.state.wrongChain ?? 'none'} at ${this.#nameOf(member)}`)
      .join(', ')
    const { what, expected } = this.#options.identity
    const message = `${this.#options.network}: wrong ${what}: expected ${expected}, found ${found}`
    if (!this.#wasRight) return new PermanentError(message)
    return new EndpointsFailed(
      message,
      this.#members.map((member) => this.#placeOf(member)),
    )
  }

  #told(failures: ReadonlyMap<Member, RetryableError>, silent: readonly Member[], now: number): string {
    const said = [...failures].map(([member, error]) => `${this.#nameOf(member)}: ${messageOf(error)}`)
    const unasked = silent.map((member) => `${this.#nameOf(member)}: ${this.#whyUnasked(member, now)}`)
    return [...said, ...unasked].join('; ')
  }

  #nameOf(member: Member): string {
    return `endpoint ${this.#placeOf(member)} (${member.endpoint.label})`
  }

  /** The endpoint's place in the configuration, from 1. Public answers show it, and not its label. */
  #placeOf(member: Member): number {
    return this.#members.indexOf(member) + 1
  }

  #whyUnasked({ endpoint, state: { asideUntilMs, wrongChain } }: Member, now: number): string {
    if (wrongChain !== null) return `${this.#options.identity.what} ${wrongChain}`
    const { pausedUntil } = endpoint.governor
    if (asideUntilMs > pausedUntil) return 'put aside'
    const leftS = Math.ceil((pausedUntil - now) / 1000)
    return `rate limited: it asked to be left alone for ${leftS} s more`
  }
}

function readyAt(member: Member): number {
  return Math.max(member.state.asideUntilMs, member.endpoint.governor.pausedUntil)
}

function leastBusy(members: readonly Member[]): Member | null {
  return members.reduce<Member | null>(
    (best, member) =>
      best === null || member.endpoint.governor.active < best.endpoint.governor.active ? member : best,
    null,
  )
}
