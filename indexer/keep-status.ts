import type { Db } from '../shared/db/connect.ts'
import { messageOf } from '../shared/errors.ts'
import type { Logger } from '../shared/log.ts'
import { putNetworkStatus } from './event-log/network-status.ts'
import type { NetworkHealth } from './network-state.ts'
import { pause, type Wakeup } from './sources/waiting.ts'

/** What moves all the time is told so often; how old it is says whether somebody still tells it. */
const INTERVAL_MS = 1000
/** A network that fails and recovers all the time is not told of more often. */
const LEAST_GAP_MS = 100
/** Intervals without a word of who leads, after which another process says what it knows. */
const SILENT_INTERVALS = 5

/**
 * Tells the readers of the database how this process sees its networks, until `signal` aborts: every second, and as
 * soon as one's state has `changed`. Of a network that another process leads it says nothing: a network that was stopped here
 * may be followed there. Never rejects; what cannot be written now is told the next time.
 */
export async function keepStatus(
  db: Db,
  networks: NetworkHealth[],
  {
    changed,
    signal,
    log,
    intervalMs = INTERVAL_MS,
  }: { changed: Wakeup; signal: AbortSignal; log: Logger; intervalMs?: number },
): Promise<void> {
  const all = networks.map(({ network }) => network)
  const toRow = (network: NetworkHealth): StatusRow => toStatusRow(network, all)
  while (!signal.aborted) {
    const told = networks.filter(({ state }) => state !== 'standby' && state !== 'starting')
    const [led, others] = [told.filter(({ leads }) => leads), told.filter(({ leads }) => !leads)]
    const unlessToldForMs = SILENT_INTERVALS * intervalMs
    try {
      await putNetworkStatus(db, led.map(toRow))
      await putNetworkStatus(db, others.map(toRow), { unlessToldForMs })
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the status could not be written')
    }
    await pause(told.length > 0 ? LEAST_GAP_MS : 0, signal)
    await changed.wait(intervalMs - LEAST_GAP_MS, signal)
  }
}

type StatusRow = Parameters<typeof putNetworkStatus>[1][number]

function toStatusRow(network: NetworkHealth, toldWith: string[]): StatusRow {
  return {
    network: network.network,
    blockchain: network.blockchain,
    network_id: network.networkId,
    state: network.state,
    problem: network.problem,
    head_number: network.head?.number ?? null,
    head_time_s: network.head?.timeS ?? null,
    finalized_number: network.finalized?.number ?? null,
    queue_waiting: network.queueWaiting,
    queue_failed: network.queueFailed,
    worker_healthy: network.workerHealthy,
    told_with: toldWith,
  }
}
