import pTimeout from 'p-timeout'
import type { DatabaseFigures } from './db/database-figures.ts'
import { PROOF_KINDS } from './events/proof-kind.ts'
import { judgeNetwork, NOT_FOLLOWED, type JudgedNetwork, type NetworkRow } from './indexing-health.ts'
import { gauge, type Registry, type Sample } from './metrics.ts'

/** A scrape waits this long for the database. */
const WITHIN_MS = 2_500

/** Reads figures of the database once for all metrics of a scrape. */
export class FiguresReader<T = DatabaseFigures> {
  #reading: Promise<T> | null = null
  readonly #read: () => Promise<T>

  constructor(read: () => Promise<T>) {
    this.#read = read
  }

  /** Null while the database does not answer; it is not asked again before that question has ended. */
  async current(): Promise<T | null> {
    this.#reading ??= this.#read().finally(() => (this.#reading = null))
    return pTimeout(this.#reading, { milliseconds: WITHIN_MS }).catch(() => null)
  }
}

type NetworkValue = (judged: JudgedNetwork, row: NetworkRow) => number | null

const OF_NETWORKS: [name: string, help: string, value: NetworkValue][] = [
  [
    'lag_blocks',
    'Blocks between the head and the last block that was written.',
    ({ lagBlocks }) => lagBlocks,
  ],
  ['lag_seconds', 'The same in seconds, by the chain’s clock.', ({ lagSeconds }) => lagSeconds],
  ['synced', '1 while the index is fresh, as /readyz of the API judges it.', ({ synced }) => Number(synced)],
  [
    'missing_blocks',
    'Blocks between the first and the last that was read, which were not.',
    ({ proof }) => proof?.missing ?? null,
  ],
  ['last_write_age_seconds', 'Time since a block was last written.', (_, { movedAgoS }) => movedAgoS],
]

const OF_DATABASE: [name: string, help: string, value: (figures: DatabaseFigures) => number | null][] = [
  ['records', 'Records of the history.', ({ records }) => records],
  ['postgres_connections', 'Sessions of all clients of the server.', ({ connections }) => connections],
  [
    'postgres_connections_limit',
    'Sessions that the server allows to ordinary roles.',
    ({ connectionLimit }) => connectionLimit,
  ],
  ['postgres_size_bytes', 'Size of the database.', ({ sizeBytes }) => sizeBytes],
  [
    'postgres_replica_lag_seconds',
    'Time by which the replica is behind; only where this program reads one.',
    ({ replicaLagS }) => replicaLagS,
  ],
]

/** Heights and depths of a network. */
export type Heights = Pick<
  NetworkRow,
  'network' | 'head' | 'indexed' | 'finalized' | 'queueWaiting' | 'queueFailed'
>

const HEIGHTS: [name: string, help: string, key: Exclude<keyof Heights, 'network'>][] = [
  ['head_block', 'Newest block to index.', 'head'],
  ['indexed_block', 'Last block that was written.', 'indexed'],
  ['finalized_block', 'Last block that can no longer be reorganized.', 'finalized'],
  ['queue_waiting', 'Jobs between reader and writer.', 'queueWaiting'],
  ['queue_failed', 'Jobs that failed for good and are still in the queue.', 'queueFailed'],
]

/**
 * Adds the figures of the database, which are the same in every program and on a standby. `own` has the networks that
 * this process leads: its heights are newer, and known while the database is away.
 */
export function addDatabaseMetrics(
  registry: Registry,
  reader: FiguresReader,
  own: () => readonly Heights[] = () => [],
): void {
  for (const [name, help, key] of HEIGHTS) {
    gauge(registry, { name, help, labels: ['network'] }, async () => {
      const values = new Map((await followed(reader)).map((row) => [row.network, row[key]]))
      for (const heights of own())
        values.set(heights.network, heights[key] ?? values.get(heights.network) ?? null)
      return [...values].flatMap(([network, value]) => sampleOf({ network }, value))
    })
  }
  gauge(registry, { name: 'postgres_up', help: '1 while Postgres answers this program.' }, async () => [
    [{}, (await reader.current()) === null ? 0 : 1],
  ])
  for (const [name, help, value] of OF_DATABASE) {
    gauge(registry, { name, help }, async () => {
      const figures = await reader.current()
      return figures === null ? [] : sampleOf({}, value(figures))
    })
  }
  addProofs(registry, reader)
  for (const [name, help, value] of OF_NETWORKS) {
    gauge(registry, { name, help, labels: ['network'] }, async () =>
      (await followed(reader)).flatMap((row) =>
        sampleOf({ network: row.network }, value(judgeNetwork(row), row)),
      ),
    )
  }
}

function addProofs(registry: Registry, reader: FiguresReader): void {
  const named = { name: 'proven_blocks', help: 'Blocks that were read, by kind of proof (docs/proof.md).' }
  gauge(registry, { ...named, labels: ['network', 'kind'] }, async () =>
    (await followed(reader)).flatMap(({ network, proof }) =>
      PROOF_KINDS.map((kind): Sample => [{ network, kind }, proof?.blocks[kind] ?? 0]),
    ),
  )
}

/** The networks that an indexer is configured to follow. */
async function followed(reader: FiguresReader): Promise<NetworkRow[]> {
  const rows = (await reader.current())?.networks ?? []
  return rows.filter((row) => judgeNetwork(row).state !== NOT_FOLLOWED)
}

export function sampleOf(labels: Record<string, string>, value: number | null): Sample[] {
  return value === null ? [] : [[labels, value]]
}
