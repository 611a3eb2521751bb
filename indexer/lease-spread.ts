import { EventEmitter, once } from 'node:events'
import { pause } from '../shared/async/pause.ts'
import type { Db } from '../shared/db/connect.ts'
import {
  getHeldLeases,
  OWN_PROCESS,
  registerProcess,
  roleLease,
  takeLease,
  type HeldLease,
  type Lease,
} from '../shared/db/leases.ts'
import type { Role } from '../shared/indexing-health.ts'
import { messageOf } from '../shared/errors.ts'
import { shareNetworks } from './spread.evolve.ts'

const ROLES: readonly Role[] = ['reader', 'writer']

/** Milliseconds between two looks at all leases. */
const LOOK_MS = 250
/** A lease that its process does not take in so many milliseconds goes to any other. */
const FREE_MS = 2_000
/** After a lease came back from a process that did not take it, none is given up for so many milliseconds. */
const REST_MS = 60_000

export interface SpreadOptions {
  db: Db
  databaseUrl: string
  roles: readonly Role[]
  networks: readonly string[]
  signal: AbortSignal
  /** Defaults to this process; tests have several in one. */
  process?: string
}

/** A lease that this process took. */
export interface SpreadLease {
  /** Aborted when the lease is gone, or when another process should have it. */
  readonly ended: AbortSignal
  /** Whether it ends for the sake of another process. */
  readonly isGivenUp: boolean
  release(): Promise<void>
}

interface Waiting {
  /** The process that has the lease; null if nobody has it, or the leases cannot be seen. */
  holder: string | null
  /** Why the leases cannot be seen or taken. */
  problem: string | null
}

/** `mine`: this process should take the lease. `waits`: it is free, and another process should take it. */
type Place = { kind: 'held'; holder: string } | { kind: 'mine' | 'waits' | 'unknown' }

/**
 * Spreads the networks over all processes that are there, each role for itself. Every process looks at the same leases and
 * computes the same shares. It takes what is its share, and gives up one lease after the other that is another's share. A
 * network's two roles go to one process where the loads allow it: a killed process then stops fewer networks.
 */
export class LeaseSpread {
  readonly #options: SpreadOptions
  readonly #process: string
  readonly #candidateFor: Set<string>
  readonly #given = new Map<string, AbortController>()
  /** When each free lease was first seen free; milliseconds of the monotonic clock. */
  readonly #freeSinceMs = new Map<string, number>()
  readonly #looks = new EventEmitter().setMaxListeners(0)
  #registration: Lease | undefined
  #leases: ReadonlyMap<string, HeldLease> | undefined
  #shares: ReadonlyMap<string, string> = new Map()
  #problem: string | null = null
  #restsUntilMs = -Infinity

  constructor(options: SpreadOptions) {
    this.#options = options
    this.#process = options.process ?? OWN_PROCESS
    this.#candidateFor = new Set(
      options.roles.flatMap((role) => options.networks.map((network) => roleLease(role, network))),
    )
  }

  /** Looks until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#options
    while (!signal.aborted) {
      try {
        await this.#register()
        await this.#look()
        this.#problem = null
      } catch (error) {
        this.#leases = undefined
        this.#problem = messageOf(error)
      }
      this.#looks.emit('look')
      await pause(LOOK_MS, signal)
    }
    await this.#registration?.release().catch(() => undefined)
  }

  /**
   * Waits until this process should have the lease, and takes it; undefined when the signal aborted or the network was withdrawn
   * first. `onWait` is called after each look that does not end the wait.
   */
  async take(
    role: Role,
    network: string,
    signal: AbortSignal,
    onWait: (waiting: Waiting) => void,
  ): Promise<SpreadLease | undefined> {
    const name = roleLease(role, network)
    while (!signal.aborted && this.#candidateFor.has(name)) {
      const place = this.#placeOf(name)
      let problem = this.#problem
      const isLate = place.kind === 'waits' && this.#isFreeForLong(name)
      if (place.kind === 'mine' || isLate) {
        try {
          const lease = await this.#takeNow(name)
          if (isLate && lease !== undefined) this.#restsUntilMs = performance.now() + REST_MS
          if (lease !== undefined) return lease
        } catch (error) {
          problem = messageOf(error)
        }
      }
      onWait({ holder: place.kind === 'held' ? place.holder : null, problem })
      await once(this.#looks, 'look', { signal }).catch(() => undefined)
    }
    return undefined
  }

  /** This process can take the network no more; others may. */
  withdraw(network: string): void {
    for (const role of ROLES) this.#candidateFor.delete(roleLease(role, network))
    // The next look registers it again.
    this.#registration?.release().catch(() => undefined)
  }

  async #register(): Promise<void> {
    if (this.#registration?.lost.aborted === false) return
    const { db, databaseUrl } = this.#options
    this.#registration = await registerProcess(db, databaseUrl, [...this.#candidateFor], this.#process)
  }

  async #look(): Promise<void> {
    const leases = await getHeldLeases(this.#options.db)
    this.#leases = new Map(leases.map((lease) => [lease.name, lease]))
    this.#shares = shareLeases(leases)
    const nowMs = performance.now()
    for (const name of this.#candidateFor) {
      if (this.#leases.has(name)) this.#freeSinceMs.delete(name)
      else if (!this.#freeSinceMs.has(name)) this.#freeSinceMs.set(name, nowMs)
    }
    if (nowMs >= this.#restsUntilMs) for (const role of ROLES) this.#giveUp(role)
  }

  /** One after the other: the next one only once the last was taken. */
  #giveUp(role: Role): void {
    const isOfRole = (name: string): boolean => name.startsWith(roleLease(role, ''))
    const own = [...this.#given].filter(([name]) => isOfRole(name))
    const isOneOnItsWay =
      own.some(([, { signal }]) => signal.aborted) ||
      [...this.#shares.keys()].some((name) => isOfRole(name) && !this.#leases?.has(name))
    if (isOneOnItsWay) return
    const surplus = own.find(
      ([name]) =>
        this.#leases?.get(name)?.process === this.#process && this.#shares.get(name) !== this.#process,
    )
    surplus?.[1].abort()
  }

  #placeOf(name: string): Place {
    if (this.#leases === undefined) return { kind: 'unknown' }
    const lease = this.#leases.get(name)
    if (lease === undefined) return { kind: this.#shares.get(name) === this.#process ? 'mine' : 'waits' }
    // The look is older than the end of this process's own lease.
    if (lease.process === this.#process) return { kind: 'unknown' }
    return { kind: 'held', holder: lease.holder }
  }

  #isFreeForLong(name: string): boolean {
    return performance.now() - (this.#freeSinceMs.get(name) ?? Infinity) >= FREE_MS
  }

  async #takeNow(name: string): Promise<SpreadLease | undefined> {
    const lease = await takeLease(this.#options.databaseUrl, name, { process: this.#process })
    if (lease === undefined) return undefined
    const given = new AbortController()
    this.#given.set(name, given)
    return {
      ended: AbortSignal.any([lease.lost, given.signal]),
      get isGivenUp() {
        return given.signal.aborted
      },
      release: async () => {
        this.#given.delete(name)
        await lease.release()
      },
    }
  }
}

/** The process that should have each lease of a role. */
function shareLeases(leases: readonly HeldLease[]): Map<string, string> {
  const shares = new Map<string, string>()
  let paired = new Map<string, string>()
  for (const role of ROLES) {
    const prefix = roleLease(role, '')
    const networksOf = (names: readonly string[]): string[] =>
      names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
    paired = shareNetworks(
      {
        processes: new Map(
          leases
            .map(({ process, candidateFor }) => [process, new Set(networksOf(candidateFor))] as const)
            .filter(([, networks]) => networks.size > 0),
        ),
        holders: new Map(
          leases.flatMap(({ name, process }) => networksOf([name]).map((network) => [network, process])),
        ),
      },
      paired,
    )
    for (const [network, process] of paired) shares.set(roleLease(role, network), process)
  }
  return shares
}
