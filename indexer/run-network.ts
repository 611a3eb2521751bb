import type { Role } from '../shared/indexing-health.ts'
import { messageOf, PermanentError } from '../shared/errors.ts'
import { Repeats } from '../shared/repeats.ts'
import { kindOf, untilClosed, type NetworkRun } from './network-run.ts'
import { PROBLEMS_OF } from './network-state.ts'
import { describeReaderEnd, ReaderSession } from './reader-session.ts'
import { endpointsOf } from './sources/rpc/rpc-error.ts'
import { pause } from '../shared/async/pause.ts'
import { describeWriterEnd, WriterSession } from './writer-session.ts'

const RESTART_PAUSE_MS = 500

/**
 * Keeps one network indexed until `signal` aborts, in the roles that this process may take. Waits for the lease of each role,
 * then runs sessions while it holds the lease. Rejects with a PermanentError when this network can never go on.
 */
export async function runNetwork(run: NetworkRun): Promise<void> {
  const failing = new AbortController()
  const own = { ...run, signal: AbortSignal.any([run.signal, failing.signal]) }
  await Promise.all(
    run.health.roles.map((role) =>
      runRole(role, own).catch((error: unknown) => {
        failing.abort()
        throw error
      }),
    ),
  )
}

async function runRole(role: Role, run: NetworkRun): Promise<void> {
  const { health, log, signal, spread } = run
  const { network } = health
  while (!signal.aborted) {
    const lease = await spread.take(role, network, signal, (waiting) => standBy(role, run, waiting))
    if (lease === undefined) return
    health.clear('lease')
    health.lead(role)
    try {
      await runSessions(role, { ...run, signal: AbortSignal.any([signal, lease.ended]) })
    } finally {
      health.standDown(role)
      await untilClosed(lease.release())
    }
    if (isAborted(signal)) return
    health.enter(role, 'starting')
    if (lease.isGivenUp) {
      log.info({ network, role }, 'given up to another process, which has less to do')
      continue
    }
    health.fail(
      'lease',
      'database',
      `the lease of the ${role} was lost: its session ended or was not renewed in time`,
    )
    await pause(RESTART_PAUSE_MS, signal)
  }
}

/** Works around TypeScript's narrowing of `signal.aborted`. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}

function standBy(
  role: Role,
  { health, log }: NetworkRun,
  { holder, problem }: { holder: string | null; problem: string | null },
): void {
  const { network, leaders } = health
  if (problem !== null) return health.fail('lease', 'database', `the lease of the ${role}: ${problem}`)
  health.clear('lease')
  if (holder === null) return
  if (health.phaseOf(role) !== 'standby' || leaders.get(role) !== holder)
    log.info({ network, role, leader: holder }, `another process leads: ${holder}; standing by`)
  leaders.set(role, holder)
  // The holder publishes its own; a standby keeps what it sees itself.
  health.clear(...PROBLEMS_OF[role])
  health.enter(role, 'standby')
}

/** One session after the other, until `signal` aborts (the lease is lost, or the program stops). */
async function runSessions(role: Role, run: NetworkRun): Promise<void> {
  const { health, log, signal } = run
  const restarts = new Repeats({ write: (line) => log.warn({ network: health.network, role }, line) })
  while (!signal.aborted) {
    try {
      const reason = await runSession(role, run)
      if (isAborted(signal)) return
      restarts.note(`beginning again from the position in Postgres: ${reason}`)
    } catch (error) {
      if (isAborted(signal)) return
      if (error instanceof PermanentError) throw error
      health.fail(role, kindOf(error), messageOf(error), endpointsOf(error))
    }
    health.counts.restarts += 1
    await pause(RESTART_PAUSE_MS, signal)
  }
}

/** Why the session ended, in a line. */
async function runSession(role: Role, run: NetworkRun): Promise<string> {
  if (role === 'writer') return describeWriterEnd(await new WriterSession(run).run())
  const end = await new ReaderSession(run).run()
  if (end.why === 'failed' && !run.signal.aborted)
    run.health.fail('reader', kindOf(end.error), messageOf(end.error), endpointsOf(end.error))
  return describeReaderEnd(end)
}
