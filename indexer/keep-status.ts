import { pause } from '../shared/async/pause.ts'
import type { Wakeup } from '../shared/async/wakeup.ts'
import type { Db } from '../shared/db/connect.ts'
import { LEFT, type Role } from '../shared/indexing-health.ts'
import { messageOf } from '../shared/errors.ts'
import type { Logger } from '../shared/log.ts'
import { Repeats } from '../shared/repeats.ts'
import { BeginningCounts } from './count-beginnings.ts'
import { askDatabase, putNetworkStatus } from './event-log/network-status.ts'
import { untilClosed } from './network-run.ts'
import type { NetworkHealth } from './network-state.ts'

/** The status is written so often; its age shows whether an indexer is alive. */
const INTERVAL_MS = 1000
/** The least time between two writes, for a network that fails and recovers all the time. */
const LEAST_GAP_MS = 100
/** Intervals without a status from the leader, after which another process writes its own view. */
const SILENT_INTERVALS = 5
/** A database that has not answered for so long is away. */
const ANSWER_WITHIN_MS = 2_500

/**
 * Writes how this process sees its networks, until `signal` aborts: every second, and as soon as a state has `changed`. The
 * reader of a network writes one row and its writer another; a role that another process has is left to it. The write is
 * also the watch on the database: while it fails, or has no answer for `answerWithinMs`, every network has that problem.
 * The last write says which roles this process leaves. Never rejects.
 */
export async function keepStatus(
  db: Db,
  networks: NetworkHealth[],
  {
    changed,
    signal,
    log,
    intervalMs = INTERVAL_MS,
    answerWithinMs = ANSWER_WITHIN_MS,
  }: { changed: Wakeup; signal: AbortSignal; log: Logger; intervalMs?: number; answerWithinMs?: number },
): Promise<void> {
  const all = networks.map(({ network }) => network)
  const counts = new BeginningCounts(db)
  const toRow = ({ network, role }: Part): StatusRow => ({
    ...toStatusRow(network, role, all),
    loans_without_beginning: role === 'writer' ? counts.of(network.network) : null,
  })
  const lines = new Repeats({ write: (line, kind) => log[kind === 'end' ? 'info' : 'warn'](line) })
  const fail = (message: string): void => {
    lines.note(message)
    for (const network of networks) network.fail('status', 'database', message)
  }
  const atWork = (): Part[] =>
    networks
      .flatMap((network) => network.roles.map((role): Part => ({ network, role })))
      .filter(({ network, role }) => !['standby', 'starting'].includes(network.reportOf(role).state))
  const isHeld = ({ network, role }: Part): boolean => network.held.has(role)
  let left: StatusRow[] = []
  // The sessions end, and release their leases, once this listener has run.
  signal.addEventListener('abort', () => (left = atWork().filter(isHeld).map(toRow).map(leaving)), {
    once: true,
  })
  while (!signal.aborted) {
    const own = atWork()
    const [led, others] = [own.filter(isHeld), own.filter((part) => !isHeld(part))]
    const unlessToldForMs = SILENT_INTERVALS * intervalMs
    const late = setTimeout(
      () => fail(`the database has not answered for ${answerWithinMs / 1000} s`),
      answerWithinMs,
    )
    try {
      if (own.length === 0) await askDatabase(db)
      await putNetworkStatus(db, led.map(toRow))
      await putNetworkStatus(db, others.map(toRow), { unlessToldForMs })
      clearTimeout(late)
      lines.over()
      for (const network of networks) network.clear('status')
    } catch (error) {
      fail(`the database is away: ${messageOf(error)}`)
    } finally {
      clearTimeout(late)
    }
    await pause(own.length > 0 ? LEAST_GAP_MS : 0, signal)
    await changed.wait(intervalMs - LEAST_GAP_MS, signal)
  }
  // A database that is away is not waited for.
  await untilClosed(putNetworkStatus(db, left))
}

/** A network that stopped for good stays stopped. */
function leaving(row: StatusRow): StatusRow {
  if (row.state === 'stopped') return row
  return { ...row, state: LEFT, problem: null, problem_kind: null, problem_endpoints: [] }
}

/** One role of a network. */
interface Part {
  network: NetworkHealth
  role: Role
}

type StatusRow = Parameters<typeof putNetworkStatus>[1][number]

function toStatusRow(
  network: NetworkHealth,
  role: Role,
  toldWith: string[],
): Omit<StatusRow, 'loans_without_beginning'> {
  const { state, problem, problemKind, problemEndpoints } = network.reportOf(role)
  return {
    network: network.network,
    role,
    blockchain: network.blockchain,
    network_id: network.networkId,
    explorer: role === 'reader' && network.explorer !== null ? JSON.stringify(network.explorer) : null,
    state,
    problem,
    problem_kind: problemKind,
    problem_endpoints: [...problemEndpoints],
    head_number: role === 'reader' ? (network.head?.number ?? null) : null,
    head_time_s: role === 'reader' ? (network.head?.timeS ?? null) : null,
    finalized_number: role === 'reader' ? (network.finalized?.number ?? null) : null,
    queue_waiting: role === 'writer' ? network.queueWaiting : null,
    queue_failed: role === 'writer' ? network.queueFailed : null,
    worker_healthy: network.workerHealthy,
    told_with: toldWith,
  }
}
