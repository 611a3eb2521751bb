import { addDatabaseMetrics, FiguresReader, sampleOf } from '../shared/database-metrics.ts'
import type { DatabaseFigures } from '../shared/db/database-figures.ts'
import type { Role } from '../shared/indexing-health.ts'
import { gauge, readCounter, type Registry, type Sample } from '../shared/metrics.ts'
import type { NetworkHealth } from './network-state.ts'

/** Null: the network has no such number, or not yet. */
type Value = (network: NetworkHealth) => number | null

const GAUGES: [name: string, help: string, value: Value][] = [
  [
    'reading',
    '1 while this process reads the chain without a problem, 0 on a standby.',
    (health) => isAtWork(health, 'reader'),
  ],
  [
    'writing',
    '1 while this process writes the network without a problem, 0 on a standby.',
    (health) => isAtWork(health, 'writer'),
  ],
  [
    'queue_age_seconds',
    'Time for which the oldest step of this process waits to be written.',
    ({ queueAgeMs }) => (queueAgeMs === null ? null : queueAgeMs / 1000),
  ],
  [
    'loans_differing',
    'Loans that differ from contract storage and could not be corrected.',
    ({ stateProof }) => stateProof?.differing ?? null,
  ],
  [
    'voucher_jobs_waiting',
    'Jobs in the voucher queue, as the process that takes them counts them.',
    ({ handedIn }) => handedIn?.queued ?? null,
  ],
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
    'loans_proven_total',
    'Comparisons of a loan with contract storage that showed it equal.',
    ({ stateProof }) => stateProof?.proven ?? null,
  ],
  [
    'loans_corrected_total',
    'Loans corrected after contract storage showed a difference.',
    ({ stateProof }) => stateProof?.corrected ?? null,
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

export interface IndexerFigures {
  networks: readonly NetworkHealth[]
  /** Reads what every program exports. Rejects while the database is away. */
  readFigures: () => Promise<DatabaseFigures>
  /** Counts the dead letters by queue. Rejects while the database is away. */
  countDeadLetters: () => Promise<{ queue: string; count: number }[]>
  queue: { isRedis: boolean; isUp: () => boolean }
}

/** Adds the numbers of these networks, read from where they are kept at each scrape. */
export function addIndexerMetrics(registry: Registry, figures: IndexerFigures): void {
  const { networks, queue } = figures
  const deadLetters = new FiguresReader(figures.countDeadLetters)
  addDatabaseMetrics(registry, new FiguresReader(figures.readFigures), () => networks.map(heightsOf))
  const samples = (value: Value): Sample[] =>
    networks.flatMap((health) => sampleOf({ network: health.network }, value(health)))
  for (const [name, help, value] of GAUGES)
    gauge(registry, { name, help, labels: ['network'] }, () => samples(value))
  for (const [name, help, value] of COUNTERS)
    readCounter(registry, { name, help, labels: ['network'] }, () => samples(value))
  gauge(registry, { name: 'queue_up', help: '1 while the queue answers, on either backend.' }, () => [
    [{}, Number(queue.isUp())],
  ])
  gauge(registry, { name: 'redis_up', help: '1 while Redis answers; only where REDIS_URL is set.' }, () =>
    sampleOf({}, queue.isRedis ? Number(queue.isUp()) : null),
  )
  gauge(
    registry,
    { name: 'dead_letters', help: 'Dead letters that are kept, by queue.', labels: ['queue'] },
    async () => {
      const counts = (await deadLetters.current()) ?? []
      return counts.map(({ queue: name, count }) => [{ queue: name }, count])
    },
  )
}

function heightsOf({ network, head, indexed, finalized, queueWaiting, queueFailed }: NetworkHealth) {
  return {
    ...{ network, queueWaiting, queueFailed },
    head: head?.number ?? null,
    indexed: indexed?.number ?? null,
    finalized: finalized?.number ?? null,
  }
}
