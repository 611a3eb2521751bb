/** The indexer tells its state every second: one that was silent for so long is not there. */
const SILENT_S = 15
/** An index that moved within this time is not stuck, and a head younger than this may still be on its way. */
const PATIENCE_S = 30
/** How far behind the head an index may be and still be called fresh: either is enough. */
const FRESH_BLOCKS = 10
const FRESH_S = 60
/** How many new blocks may appear at once on a chain that stood still, before that counts against us. */
const NEW_BLOCKS = 2
/** From this age of the head on, it is worth saying that the chain stands still. */
const STANDSTILL_S = 120

/** More loans than this are not counted one by one. */
export const MOST_COUNTED = 1000

/** The state of a network that was indexed once, and that no indexer is configured to follow. */
export const NOT_FOLLOWED = 'not followed'

/**
 * The part that fails, most important first: a network that stopped for good, the database, the queue, the node, a step
 * that cannot be written, a worker that takes nothing, anything else.
 */
export const PROBLEM_KINDS = ['stopped', 'database', 'queue', 'node', 'step', 'worker', 'other'] as const
export type ProblemKind = (typeof PROBLEM_KINDS)[number]

/** What the database knows of a network. Heights are block numbers, times Unix seconds of the chain's own clock. */
export interface NetworkRow {
  network: string
  blockchain: string | null
  networkId: string | null
  /** As the indexer told it; null when none is configured to. */
  state: string | null
  problem: string | null
  problemKind: ProblemKind | null
  /** The newest block to index. */
  head: number | null
  headTimeS: number | null
  indexed: number | null
  indexedTimeS: number | null
  finalized: number | null
  queueWaiting: number | null
  queueFailed: number | null
  workerHealthy: boolean | null
  /** Loans whose first event was not read: at most one more than MOST_COUNTED; null when nobody counted them. */
  loansWithoutBeginning: number | null
  /** Seconds since the indexer last told its state, by the database's clock; null when none is configured to. */
  observedAgoS: number | null
  /** Seconds since the last block was written, by the database's clock; null before the first. */
  movedAgoS: number | null
  /** The database's clock, Unix seconds. */
  nowS: number
}

export interface NetworkHealth {
  network: string
  blockchain: string | null
  networkId: string | null
  /** As the indexer tells it; 'unobserved': it has told nothing for a while; NOT_FOLLOWED. */
  state: string
  problem: string | null
  problemKind: ProblemKind | null
  head: number | null
  indexed: number | null
  finalized: number | null
  lagBlocks: number | null
  /** Between the head's time and the indexed block's, both by the chain's clock. */
  lagSeconds: number | null
  /** Whether what was indexed is fresh: the verdict of readiness. */
  synced: boolean
  /** Why it is synced or not, in one line. */
  note: string
  queueWaiting: number | null
  queueFailed: number | null
}

/**
 * (pure) Judges a network's freshness from its row alone, so that every copy of the API and `ops status` say the same:
 * - in no indexer’s configuration → not followed, which is nobody’s fault and says nothing of the others;
 * - silent indexer, stopped network, worker that takes nothing → not synced;
 * - at the head → synced, also when the chain stands still (unless the node is out of reach: then the head is
 *   what we last heard, and only its age can vouch for it);
 * - behind and moving → synced while the distance is small, else it is catching up;
 * - behind and not moving → stuck, unless the head has only just appeared.
 */
export function judgeNetwork(told: NetworkRow): NetworkHealth {
  const row = withHeadOf(told)
  const lagBlocks = difference(row.head, row.indexed)
  const lagSeconds = difference(row.headTimeS, row.indexedTimeS)
  const observed = row.observedAgoS !== null && row.observedAgoS <= SILENT_S
  const [synced, note] = judge(row, observed, lagBlocks, lagSeconds)
  return {
    network: row.network,
    blockchain: row.blockchain,
    networkId: row.networkId,
    state: observed ? (row.state ?? 'unobserved') : row.observedAgoS === null ? NOT_FOLLOWED : 'unobserved',
    problem: row.problem,
    problemKind: row.problemKind,
    head: row.head,
    indexed: row.indexed,
    finalized: row.finalized,
    lagBlocks,
    lagSeconds,
    synced,
    note: note + beginningsNote(row.loansWithoutBeginning),
    queueWaiting: row.queueWaiting,
    queueFailed: row.queueFailed,
  }
}

/** No fault of the index, which holds what it was told to read: it only says what is missing. */
function beginningsNote(count: number | null): string {
  if (count === null || count === 0) return ''
  const loans =
    count === 1 ? '1 loan' : count > MOST_COUNTED ? `more than ${MOST_COUNTED} loans` : `${count} loans`
  return `; ${loans} began before startBlock: ${count === 1 ? 'its' : 'their'} terms are not known`
}

/**
 * What was indexed is on the chain, so the head is never behind it: it is told once a second, and may be older than
 * the last block written. An unknown head stays unknown.
 */
function withHeadOf(row: NetworkRow): NetworkRow {
  if (row.head === null || row.indexed === null || row.head >= row.indexed) return row
  return { ...row, head: row.indexed, headTimeS: row.indexedTimeS }
}

type Verdict = [synced: boolean, note: string]

function judge(
  row: NetworkRow,
  observed: boolean,
  lagBlocks: number | null,
  lagSeconds: number | null,
): Verdict {
  if (row.observedAgoS === null) return [false, `${NOT_FOLLOWED}: it is in no indexer’s configuration`]
  if (!observed) return [false, `no indexer has told anything for ${Math.round(row.observedAgoS)} s`]
  if (row.state === 'stopped') return [false, `stopped: ${row.problem ?? 'no reason given'}`]
  if (row.workerHealthy === false) return [false, 'the queue worker takes nothing although work waits']
  if (row.indexed === null) return [false, withProblem(row, 'nothing is indexed yet')]
  if (row.head === null || lagBlocks === null) return [false, withProblem(row, 'the head is not known')]
  if (row.state !== 'following') return judgeWithoutNode(row)
  if (lagBlocks <= 0) return [true, atHeadNote(row)]
  return judgeBehind(row, lagBlocks, lagSeconds ?? 0)
}

/** What is not known is not known for a reason, where there is one. */
function withProblem({ state, problem }: NetworkRow, what: string): string {
  return problem === null ? what : `${state ?? 'unknown state'}: ${problem}; ${what}`
}

/** Nobody can say where the head is now: what was indexed is fresh only as long as its age by the clock is small. */
function judgeWithoutNode(row: NetworkRow): Verdict {
  const why = `${row.state ?? 'unknown state'}: ${row.problem ?? 'the chain is not being followed'}`
  const age = row.nowS - (row.indexedTimeS ?? 0)
  const seconds = Math.round(Math.abs(age))
  const when = age < 0 ? `${seconds} s ahead of the clock` : `${seconds} s old`
  return [Math.abs(age) <= FRESH_S, `${why}; the last indexed block is ${when}`]
}

function atHeadNote(row: NetworkRow): string {
  const age = row.nowS - (row.headTimeS ?? row.nowS)
  return age > STANDSTILL_S ? `at the head; the chain stands still since ${Math.round(age)} s` : 'at the head'
}

function judgeBehind(row: NetworkRow, lagBlocks: number, lagSeconds: number): Verdict {
  const behind = `${lagBlocks} blocks behind the head`
  if ((row.movedAgoS ?? Infinity) <= PATIENCE_S) {
    const fresh = lagBlocks <= FRESH_BLOCKS || lagSeconds <= FRESH_S
    return [fresh, fresh ? `following, ${behind}` : `catching up, ${behind}`]
  }
  const headAge = row.nowS - (row.headTimeS ?? 0)
  if (lagBlocks <= NEW_BLOCKS && Math.abs(headAge) <= PATIENCE_S)
    return [true, `${behind}, which has just appeared`]
  return [false, `stuck: ${behind}, and nothing was written for ${Math.round(row.movedAgoS ?? Infinity)} s`]
}

function difference(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.max(0, a - b)
}
