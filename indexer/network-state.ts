import type { NetworkState } from '../shared/db/schema.ts'
import type { BlockHeader, BlockRef } from '../shared/events/chain-step.ts'
import { PROBLEM_KINDS, type Explorer, type ProblemKind, type Role } from '../shared/indexing-health.ts'
import type { Logger } from '../shared/log.ts'
import { Repeats } from '../shared/repeats.ts'
import { NO_METER, type StepMeter } from './step-meter.ts'

/** Vouchers since this process started, by outcome, and the jobs that wait in the voucher queue. */
export interface HandedInCounts {
  accepted: number
  known: number
  waiting: number
  refused: number
  queued: number
}

/** Loans compared with contract storage since this process started, and those that differ now. */
export interface StateProofCounts {
  proven: number
  corrected: number
  differing: number
}

/** A process's activity for a network in one role. Problems are kept beside it. */
export type Phase = 'starting' | 'standby' | 'following' | 'stopped'

/**
 * Parts that fail and recover on their own; each keeps its problem until it succeeds. `status` writes the status table, `lease`
 * takes leases, `reader` and `writer` begin a session, `head` polls the head, `unwritten` waits for a writer, `state` compares
 * loans with contract storage, `certificates` compares certified blocks with ours.
 */
export type ProblemSource =
  | 'stopped'
  | 'status'
  | 'lease'
  | 'queue'
  | 'reader'
  | 'writer'
  | 'reading'
  | 'head'
  | 'unwritten'
  | 'state'
  | 'certificates'
  | 'writing'
  | 'worker'

/** The problems of one role alone; all others are problems of both. */
export const PROBLEMS_OF = {
  reader: ['reader', 'reading', 'head', 'unwritten', 'state', 'certificates'],
  writer: ['writer', 'writing', 'worker'],
} as const satisfies Record<Role, readonly ProblemSource[]>

interface Problem {
  kind: ProblemKind
  message: string
  endpoints: readonly number[]
}

/** How one role of a network is, as this process sees it. */
interface RoleView {
  state: NetworkState
  problem: string | null
  problemKind: ProblemKind | null
  /** Places of the endpoints behind the problem, from 1. */
  problemEndpoints: readonly number[]
}

/** The state of one network in this process, for the status table, readiness and metrics. */
export interface NetworkHealth {
  readonly network: string
  readonly blockchain: string
  readonly networkId: string
  /** For the page; null if none is configured. */
  readonly explorer: Explorer | null
  /** The roles that this process may take for the network. */
  readonly roles: readonly Role[]
  phaseOf: (role: Role) => Phase
  /**
   * `standby` while other processes have all of this one's roles; `retrying` while a network that is starting or followed has
   * a problem.
   */
  readonly state: NetworkState
  /** The most important problem, in one line; null when there is none. */
  readonly problem: string | null
  readonly problemKind: ProblemKind | null
  /** False while the queue's worker takes nothing although jobs wait. */
  readonly workerHealthy: boolean
  /** The roles that this process has: only it publishes their status. */
  readonly held: ReadonlySet<Role>
  /** The processes that have the roles which this one could take. */
  readonly leaders: Map<Role, string>
  reportOf: (role: Role) => RoleView
  /** This process has the role from now on. */
  lead: (role: Role) => void
  /** It has the role no more: nor does it know what only a holder knows. */
  standDown: (role: Role) => void
  enter: (role: Role, phase: Phase) => void
  /** Keeps a source's problem, in place of an earlier one of that source. `endpoints` are the places of those behind it. */
  fail: (source: ProblemSource, kind: ProblemKind, message: string, endpoints?: readonly number[]) => void
  /** These sources have succeeded. */
  clear: (...sources: ProblemSource[]) => void
  head: BlockHeader | null
  finalized: BlockRef | null
  /** The last block that was written; null before the first. */
  indexed: BlockRef | null
  queueWaiting: number | null
  queueFailed: number | null
  /** For how long the oldest step waits to be written; null unless this process reads the network. */
  queueAgeMs: number | null
  readonly meter: StepMeter
  counts: {
    steps: number
    reorgs: number
    events: number
    undecodable: number
    retries: number
    restarts: number
    /** Jobs in the network's queue that no indexer of this service made. */
    refusedJobs: number
  }
  /** Null where nothing is signed off-chain: on EVM chains. */
  handedIn: HandedInCounts | null
  /** Null where no contract keeps what is indexed: on Filecoin. */
  stateProof: StateProofCounts | null
}

/** Logged once for all networks (keep-status.ts, watch-queue.ts), or as an error (main.ts). */
const LOGGED_ELSEWHERE: readonly ProblemSource[] = ['queue', 'status', 'stopped']

/** A network that is starting; `onChange` is called whenever its state or its problem changes. */
export function newNetworkHealth(
  identity: {
    network: string
    blockchain: string
    networkId: string
    explorer?: Explorer | null
    roles?: readonly Role[]
  },
  onChange: () => void = () => undefined,
  log?: Logger,
  meter: StepMeter = NO_METER,
): NetworkHealth {
  const problems = new Map<ProblemSource, Problem>()
  const lines = new Map<ProblemSource, Repeats>()
  const roles = identity.roles ?? (['reader', 'writer'] as const)
  const phases = new Map<Role, Phase>(roles.map((role) => [role, 'starting']))

  const worst = (): Problem | undefined => worstOf([...problems.values()])
  const told = (): string => JSON.stringify([health.state, roles.map(reportOf)])
  const change = (work: () => void): void => {
    const before = told()
    work()
    if (told() !== before) onChange()
  }
  const linesOf = (source: ProblemSource): Repeats | undefined => {
    if (log === undefined || LOGGED_ELSEWHERE.includes(source)) return undefined
    const known = lines.get(source)
    if (known !== undefined) return known
    const made = new Repeats({
      write: (line, kind) => log[kind === 'end' ? 'info' : 'warn']({ network: identity.network }, line),
    })
    lines.set(source, made)
    return made
  }

  const held = new Set<Role>()
  const leaders = new Map<Role, string>()
  const reportOf = (role: Role): RoleView => {
    const others: readonly ProblemSource[] = PROBLEMS_OF[role === 'reader' ? 'writer' : 'reader']
    const own = [...problems].filter(([source]) => !others.includes(source)).map(([, problem]) => problem)
    const worst = worstOf(own)
    const phase = phases.get(role) ?? 'standby'
    const isAtWork = phase === 'starting' || phase === 'following'
    return {
      state: isAtWork && worst !== undefined ? 'retrying' : phase,
      problem: worst?.message ?? null,
      problemKind: worst?.kind ?? null,
      problemEndpoints: worst?.endpoints ?? [],
    }
  }
  const health: NetworkHealth = {
    ...{ network: identity.network, blockchain: identity.blockchain, networkId: identity.networkId },
    explorer: identity.explorer ?? null,
    roles,
    phaseOf: (role) => phases.get(role) ?? 'standby',
    get state() {
      const own = [...phases.values()]
      if (own.includes('stopped')) return 'stopped'
      const active = own.filter((phase) => phase !== 'standby')
      if (active.length === 0) return 'standby'
      if (problems.size > 0) return 'retrying'
      return active.includes('starting') ? 'starting' : 'following'
    },
    get problem() {
      return worst()?.message ?? null
    },
    get problemKind() {
      return worst()?.kind ?? null
    },
    get workerHealthy() {
      return !problems.has('worker')
    },
    held,
    leaders,
    reportOf,
    lead: (role) => {
      held.add(role)
      leaders.delete(role)
    },
    standDown: (role) => {
      held.delete(role)
      if (role === 'reader') Object.assign(health, { head: null, finalized: null, queueAgeMs: null })
      else Object.assign(health, { queueWaiting: null, queueFailed: null })
      if (held.size === 0) health.indexed = null
    },
    enter: (role, phase) => change(() => void phases.set(role, phase)),
    fail: (source, kind, message, endpoints = []) =>
      change(() => {
        problems.set(source, { kind, message, endpoints })
        linesOf(source)?.note(message)
      }),
    clear: (...sources) =>
      change(() => {
        for (const source of sources) if (problems.delete(source)) lines.get(source)?.over()
      }),
    ...{
      head: null,
      finalized: null,
      indexed: null,
      queueWaiting: null,
      queueFailed: null,
      queueAgeMs: null,
    },
    meter,
    counts: { steps: 0, reorgs: 0, events: 0, undecodable: 0, retries: 0, restarts: 0, refusedJobs: 0 },
    handedIn: identity.network.startsWith('filecoin:')
      ? { accepted: 0, known: 0, waiting: 0, refused: 0, queued: 0 }
      : null,
    stateProof: identity.network.startsWith('evm:') ? { proven: 0, corrected: 0, differing: 0 } : null,
  }
  return health
}

function worstOf(problems: readonly Problem[]): Problem | undefined {
  const rank = ({ kind }: Problem): number => PROBLEM_KINDS.indexOf(kind)
  return [...problems].sort((a, b) => rank(a) - rank(b))[0]
}
