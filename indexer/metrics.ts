import { Counter, Gauge, Registry } from 'prom-client'
import type { Role } from '../shared/indexing-health.ts'
import type { NetworkHealth } from './network-state.ts'

/** Null: the network has no such number, or not yet. */
type Value = (network: NetworkHealth) => number | null

const GAUGES: [name: string, help: string, value: Value][] = [
  ['head_block', 'Newest block to index.', ({ head }) => head?.number ?? null],
  ['indexed_block', 'Last block that was written.', ({ indexed }) => indexed?.number ?? null],
  [
    'finalized_block',
    'Last block that can no longer be reorganized.',
    ({ finalized }) => finalized?.number ?? null,
  ],
  ['queue_waiting', 'Steps between source and database.', ({ queueWaiting }) => queueWaiting],
  ['queue_failed', 'Steps that became dead letters.', ({ queueFailed }) => queueFailed],
  [
    'reading',
    '1 while this process reads the chain without a problem.',
    (health) => isAtWork(health, 'reader'),
  ],
  ['writing', '1 while this process writes it without a problem.', (health) => isAtWork(health, 'writer')],
  ['voucher_jobs_waiting', 'Jobs in the voucher queue.', ({ handedIn }) => handedIn?.queued ?? null],
]

const COUNTERS: [name: string, help: string, value: Value][] = [
  ['steps_total', 'Steps written by this process.', ({ counts }) => counts.steps],
  ['events_total', 'Events written by this process.', ({ counts }) => counts.events],
  ['undecodable_total', 'Logs that did not decode.', ({ counts }) => counts.undecodable],
  ['reorgs_total', 'Reorgs written by this process.', ({ counts }) => counts.reorgs],
  ['retries_total', 'Writes that were tried again.', ({ counts }) => counts.retries],
  ['restarts_total', 'Times the chain was read again from the position.', ({ counts }) => counts.restarts],
  [
    'refused_jobs_total',
    'Jobs in the queue of steps that this service did not make.',
    ({ counts }) => counts.refusedJobs,
  ],
  [
    'handed_in_accepted_total',
    'Vouchers and statements that became facts.',
    ({ handedIn }) => handedIn?.accepted ?? null,
  ],
  ['handed_in_known_total', 'Those that were facts before.', ({ handedIn }) => handedIn?.known ?? null],
  [
    'handed_in_waiting_total',
    'Those that had to wait for their channel.',
    ({ handedIn }) => handedIn?.waiting ?? null,
  ],
  ['handed_in_refused_total', 'Those that became dead letters.', ({ handedIn }) => handedIn?.refused ?? null],
]

/** Null where this process never takes the role. */
function isAtWork({ roles, reportOf }: NetworkHealth, role: Role): number | null {
  if (!roles.includes(role)) return null
  return reportOf(role).state === 'following' ? 1 : 0
}

/** The numbers of these networks and of this process, read from where they are kept whenever they are asked for. */
export function metricsOf(networks: readonly NetworkHealth[]): Registry {
  const registry = new Registry()
  const registers = [registry]
  const samples = (value: Value): [{ network: string }, number][] =>
    networks.flatMap((health) => {
      const number = value(health)
      return number === null ? [] : [[{ network: health.network }, number]]
    })
  const options = (name: string, help: string) =>
    ({ name: `loan_activity_${name}`, help, labelNames: ['network'], registers }) as const
  for (const [name, help, value] of GAUGES) {
    new Gauge({
      ...options(name, help),
      collect() {
        this.reset()
        for (const [labels, number] of samples(value)) this.set(labels, number)
      },
    })
  }
  for (const [name, help, value] of COUNTERS) {
    new Counter({
      ...options(name, help),
      collect() {
        this.reset()
        for (const [labels, number] of samples(value)) this.inc(labels, number)
      },
    })
  }
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  return registry
}
