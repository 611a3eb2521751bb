import { findHolder, roleLease, takeLease, type Lease } from '../shared/db/leases.ts'
import { messageOf, PermanentError } from '../shared/errors.ts'
import { Repeats } from '../shared/repeats.ts'
import { kindOf, untilClosed, type NetworkRun } from './network-run.ts'
import type { Role } from './network-state.ts'
import { describeReaderEnd, ReaderSession } from './reader-session.ts'
import { pause } from '../shared/async/pause.ts'
import { describeWriterEnd, WriterSession } from './writer-session.ts'

const STANDBY_POLL_MS = 500
const RESTART_PAUSE_MS = 500

/**
 * Keeps one network indexed until `signal` aborts, in the roles that this process may take: waits for the lease of each, then
 * runs one session after the other for as long as it holds the lease. Rejects with a PermanentError when this network can never
 * go on; other networks go on.
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
  const { health, signal } = run
  while (!signal.aborted) {
    const lease = await waitForLease(role, run)
    if (lease === undefined) return
    health.held.add(role)
    try {
      await runSessions(role, { ...run, signal: AbortSignal.any([signal, lease.lost]) })
    } finally {
      health.held.delete(role)
      await untilClosed(lease.release())
    }
    if (isAborted(signal)) return
    health.enter(role, 'starting')
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

/** Undefined when `signal` aborted first. */
async function waitForLease(role: Role, run: NetworkRun): Promise<Lease | undefined> {
  const { db, databaseUrl, health, signal } = run
  const name = roleLease(role, health.network)
  while (!signal.aborted) {
    try {
      const holder = await findHolder(db, name)
      const lease = holder === undefined ? await takeLease(databaseUrl, name) : undefined
      health.clear('lease')
      if (lease !== undefined) {
        health.leader = null
        return lease
      }
      // Another candidate took it between the two questions: the next look knows which.
      if (holder !== undefined) standBy(role, run, holder)
    } catch (error) {
      health.fail('lease', 'database', `the lease of the ${role}: ${messageOf(error)}`)
    }
    await pause(STANDBY_POLL_MS, signal)
  }
  return undefined
}

/** A role's own problems, which its holder publishes; a standby keeps only what it sees itself. */
const PROBLEMS = {
  reader: ['reader', 'reading', 'head', 'unwritten'],
  writer: ['writer', 'writing', 'worker'],
} as const

function standBy(role: Role, { health, log }: NetworkRun, holder: string): void {
  const { network } = health
  if (health.phaseOf(role) !== 'standby' || health.leader !== holder)
    log.info({ network, role, leader: holder }, `another process leads: ${holder}; standing by`)
  health.leader = holder
  health.clear(...PROBLEMS[role])
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
      health.fail(role, kindOf(error), messageOf(error))
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
    run.health.fail('reader', kindOf(end.error), messageOf(end.error))
  return describeReaderEnd(end)
}
