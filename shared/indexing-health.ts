import type { ProofKind } from './events/proof-kind.ts'

/** The indexer reports its state every second; after this many silent seconds it counts as gone. */
const SILENT_S = 15
/** A stopping process ends its sessions within 2 s, and another one takes over about a second later. */
const HANDOVER_S = 5
/** An index that moved within this time is not stuck, and a head younger than this may still be on its way. */
const PATIENCE_S = 30
/** An index this close to the head still counts as fresh; either limit is enough. */
const FRESH_BLOCKS = 10
const FRESH_S = 60
/** New blocks that may appear at once on a chain that stood still, before they count as a lag. */
const NEW_BLOCKS = 2
/** Age of the head, in seconds, from which the note mentions that the chain stands still. */
const STANDSTILL_S = 120

/** Loans beyond this number are not counted. */
export const MOST_COUNTED = 1000

/** The last report of a role whose process was stopped. */
export const LEFT = 'left'

/** The state of a network that was indexed once, and that no indexer is configured to follow. */
export const NOT_FOLLOWED = 'not followed'

/**
 * Failing parts, most important first: a network that stopped permanently, the database, the queue, a role that no process
 * has, the node, an unwritable step, a stalled worker, anything else.
 */
export const PROBLEM_KINDS = [
  'stopped',
  'database',
  'queue',
  'reader',
  'writer',
  'node',
  'step',
  'worker',
  'other',
] as const
export type ProblemKind = (typeof PROBLEM_KINDS)[number]

/** A process reads a network's chain into the queue, or writes the steps that come from there. */
export type Role = 'reader' | 'writer'

/** The last report of a network's reader, or of its writer. */
export interface RoleReport {
  state: string
  problem: string | null
  problemKind: ProblemKind | null
  /** Places of the endpoints behind the problem, from 1. */
  problemEndpoints?: readonly number[]
  /** Seconds since the report, by the database's clock. */
  observedAgoS: number
  /** Whether a process holds the role's lease; missing where leases are not looked at: a replica does not see them. */
  isHeld?: boolean
}

/** The state of a role whose process has not reported for a while. */
const UNOBSERVED = 'unobserved'

/** How the blocks of a network were proven. */
export interface ProofReport {
  /** First and last block that was read. */
  from: number
  to: number
  /** Blocks between them that were not. */
  missing: number
  /** Blocks by kind of proof. */
  blocks: Partial<Record<ProofKind, number>>
  /** Block at which, or at a later final one, each loan was proven equal to contract state; null if never. */
  stateAt: number | null
  /** Block up to which a certificate proves the index final; null if none does. */
  certificateAt: number | null
}

/** Addresses of a block explorer: `{transaction}` and `{address}` stand for what is shown. */
export interface Explorer {
  transaction: string | null
  address: string | null
}

/** The stored state of a network. Heights are block numbers, times Unix seconds of the chain's own clock. */
export interface NetworkRow {
  network: string
  blockchain: string | null
  networkId: string | null
  /** Null if none is configured. */
  explorer: Explorer | null
  /** Null if no process ever had the role. */
  reader: RoleReport | null
  writer: RoleReport | null
  /** The newest block to index. */
  head: number | null
  headTimeS: number | null
  indexed: number | null
  indexedTimeS: number | null
  finalized: number | null
  queueWaiting: number | null
  queueFailed: number | null
  workerHealthy: boolean | null
  /** Loans whose first event was not read: at most MOST_COUNTED + 1; null if not counted. */
  loansWithoutBeginning: number | null
  /** Null before the first block. */
  proof: ProofReport | null
  /** Seconds since the last block was written, by the database's clock; null before the first. */
  movedAgoS: number | null
  /** The database's clock, Unix seconds. */
  nowS: number
}

export interface NetworkHealth {
  network: string
  blockchain: string | null
  networkId: string | null
  explorer: Explorer | null
  /** The worse report of its two roles; 'unobserved' if either is missing; or {@link NOT_FOLLOWED}. */
  state: string
  /** The report of each role; 'unobserved' if there was none for a while. */
  reader: string
  writer: string
  problem: string | null
  problemKind: ProblemKind | null
  head: number | null
  indexed: number | null
  finalized: number | null
  lagBlocks: number | null
  /** Seconds between the head's time and the indexed block's, both by the chain's clock. */
  lagSeconds: number | null
  /** Whether the index is fresh; readiness depends on it. */
  synced: boolean
  /** The reason for `synced`, in one line. */
  note: string
  queueWaiting: number | null
  queueFailed: number | null
  proof: ProofReport | null
}

export interface JudgedNetwork extends NetworkHealth {
  /** Whether `note` says `problem` as well. */
  isProblemInNote: boolean
}

/**
 * (pure) Judges a network's freshness from its row alone, so that every copy of the API and `ops status` agree:
 * - in no indexer’s configuration → not followed, which is no failure and does not affect the others;
 * - silent reader or writer, stopped network, stalled worker → not synced;
 * - node out of reach → synced while the last indexed block is young;
 * - at the head → synced, even if the chain stands still;
 * - behind and moving → synced while the distance is small, else it is catching up;
 * - behind and not moving → stuck, unless the head has only just appeared.
 */
export function judgeNetwork(told: NetworkRow): JudgedNetwork {
  const row = { ...withHeadOf(told), ...together(told) }
  const lagBlocks = difference(row.head, row.indexed)
  const lagSeconds = difference(row.headTimeS, row.indexedTimeS)
  const { synced, note, isProblemInNote = false } = judge(row, lagBlocks, lagSeconds)
  return {
    network: row.network,
    blockchain: row.blockchain,
    networkId: row.networkId,
    explorer: row.explorer,
    state: row.state,
    reader: heardOf(told.reader, 'reader').state,
    writer: heardOf(told.writer, 'writer').state,
    problem: row.problem,
    problemKind: row.problemKind,
    head: row.head,
    indexed: row.indexed,
    finalized: row.finalized,
    lagBlocks,
    lagSeconds,
    synced,
    note: note + beginningsNote(row.loansWithoutBeginning),
    isProblemInNote,
    queueWaiting: row.queueWaiting,
    queueFailed: row.queueFailed,
    proof: row.proof,
  }
}

/** Both roles of a network in one report. */
interface Report {
  state: string
  problem: string | null
  problemKind: ProblemKind | null
  /** Seconds since the newer report; null if no indexer is configured to follow the network. */
  observedAgoS: number | null
}

/** States from the worst; any other state comes before `following`. */
const WORST_FIRST = ['stopped', UNOBSERVED, 'retrying', 'starting', 'standby']

function together({ reader, writer }: NetworkRow): Report {
  const [newest] = [reader, writer]
    .filter((report) => report !== null)
    .sort((a, b) => a.observedAgoS - b.observedAgoS)
  if (newest === undefined)
    return { state: NOT_FOLLOWED, problem: null, problemKind: null, observedAgoS: null }
  const { observedAgoS } = newest
  if (observedAgoS > SILENT_S) return { ...newest, state: UNOBSERVED }
  const reports = [heardOf(reader, 'reader'), heardOf(writer, 'writer')]
  const [worst = shown(newest)] = WORST_FIRST.flatMap((state) =>
    reports.filter((report) => report.state === state),
  )
  const [told] = reports.filter(({ problem }) => problem !== null).sort((a, b) => rankOf(a) - rankOf(b))
  return {
    state: worst.state,
    problem: told?.problem ?? null,
    problemKind: told?.problemKind ?? null,
    observedAgoS,
  }
}

/** A role that no process has is a report as well. */
function heardOf(report: RoleReport | null, role: Role): RoleReport {
  if (report !== null && report.observedAgoS <= patienceS(report)) return shown(report)
  return { state: UNOBSERVED, problem: MISSING[role], problemKind: role, observedAgoS: Infinity }
}

/** A role that was left a moment ago is about to be taken over. */
function shown(report: RoleReport): RoleReport {
  return report.state === LEFT ? { ...report, state: 'following' } : report
}

/** Only a process that holds the lease follows, so a report without a holder is out of date. */
function patienceS({ state, isHeld }: RoleReport): number {
  if (state === LEFT) return isHeld === false ? 0 : HANDOVER_S
  return state === 'following' && isHeld === false ? HANDOVER_S : SILENT_S
}

const MISSING: Readonly<Record<Role, string>> = {
  reader: 'no process reads this network',
  writer: 'no process writes this network',
}

/** An unknown kind, from an indexer of another version, comes last. */
function rankOf({ problemKind }: RoleReport): number {
  const known = PROBLEM_KINDS.findIndex((kind) => kind === problemKind)
  return known < 0 ? PROBLEM_KINDS.length : known
}

/** Missing beginnings are not a fault of the index, which holds everything it was configured to read. */
function beginningsNote(count: number | null): string {
  if (count === null || count === 0) return ''
  const loans =
    count === 1 ? '1 loan' : count > MOST_COUNTED ? `more than ${MOST_COUNTED} loans` : `${count} loans`
  return `; ${loans} began before startBlock: ${count === 1 ? 'its' : 'their'} terms are not known`
}

/**
 * The head is never behind the indexed blocks, but its report comes once a second and may be older than they are. An
 * unknown head stays unknown.
 */
function withHeadOf(row: NetworkRow): NetworkRow {
  if (row.head === null || row.indexed === null || row.head >= row.indexed) return row
  return { ...row, head: row.indexed, headTimeS: row.indexedTimeS }
}

interface Verdict {
  synced: boolean
  note: string
  isProblemInNote?: boolean
}

type Judged = NetworkRow & Report

function judge(row: Judged, lagBlocks: number | null, lagSeconds: number | null): Verdict {
  if (row.observedAgoS === null) return late(`${NOT_FOLLOWED}: it is in no indexer’s configuration`)
  if (row.observedAgoS > SILENT_S)
    return late(`no indexer has told anything for ${Math.round(row.observedAgoS)} s`)
  if (row.state === UNOBSERVED && row.problem !== null) return { ...late(row.problem), isProblemInNote: true }
  if (row.state === 'stopped')
    return { ...late(`stopped: ${row.problem ?? 'no reason given'}`), isProblemInNote: true }
  if (row.workerHealthy === false) {
    const note = 'the queue worker takes nothing although work waits'
    return { ...late(note), isProblemInNote: row.problemKind === 'worker' }
  }
  if (row.indexed === null) return withProblem(row, 'nothing is indexed yet')
  if (row.head === null || lagBlocks === null) return withProblem(row, 'the head is not known')
  if (row.state !== 'following') return judgeWithoutNode(row)
  if (lagBlocks <= 0) return { synced: true, note: atHeadNote(row) }
  return judgeBehind(row, lagBlocks, lagSeconds ?? 0)
}

function late(note: string): Verdict {
  return { synced: false, note }
}

/** Adds the reported problem, if there is one, as the reason. */
function withProblem({ state, problem }: Judged, what: string): Verdict {
  return problem === null ? late(what) : { ...late(`${state}: ${problem}; ${what}`), isProblemInNote: true }
}

/** The current head is unknown: the index counts as fresh only while its age by the clock is small. */
function judgeWithoutNode(row: Judged): Verdict {
  const why = `${row.state}: ${row.problem ?? 'the chain is not being followed'}`
  const age = row.nowS - (row.indexedTimeS ?? 0)
  const seconds = Math.round(Math.abs(age))
  const when = age < 0 ? `${seconds} s ahead of the clock` : `${seconds} s old`
  return {
    synced: Math.abs(age) <= FRESH_S,
    note: `${why}; the last indexed block is ${when}`,
    isProblemInNote: true,
  }
}

function atHeadNote(row: NetworkRow): string {
  const age = row.nowS - (row.headTimeS ?? row.nowS)
  return age > STANDSTILL_S ? `at the head; the chain stands still since ${Math.round(age)} s` : 'at the head'
}

function judgeBehind(row: NetworkRow, lagBlocks: number, lagSeconds: number): Verdict {
  const behind = `${lagBlocks} ${lagBlocks === 1 ? 'block' : 'blocks'} behind the head`
  if ((row.movedAgoS ?? Infinity) <= PATIENCE_S) {
    const synced = lagBlocks <= FRESH_BLOCKS || lagSeconds <= FRESH_S
    return { synced, note: synced ? `following, ${behind}` : `catching up, ${behind}` }
  }
  const headAge = row.nowS - (row.headTimeS ?? 0)
  if (lagBlocks <= NEW_BLOCKS && Math.abs(headAge) <= PATIENCE_S)
    return { synced: true, note: `${behind}, which has just appeared` }
  const silentS = Math.round(row.movedAgoS ?? Infinity)
  return late(`stuck: ${behind}, and nothing was written for ${silentS} s`)
}

function difference(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.max(0, a - b)
}
