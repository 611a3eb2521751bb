import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import { inOneState, type Trx } from '../../shared/db/transaction.ts'
import { LIVE_SCHEMA, type ProjectionSchema } from './projection.ts'

export interface Digest {
  /** SHA-256 over every row of the read model, in hex. */
  digest: string
  records: number
  loans: number
  channels: number
  /** The last log position that is folded in. */
  foldedPosition: number
}

const CHUNK = 5000

/** Two read models with the same digest have the same rows, ids and times. Reads one snapshot of the database. */
export function digestReadModel(db: Db): Promise<Digest> {
  return inOneState(db, (trx) => digestSchema(trx, LIVE_SCHEMA))
}

/** As {@link digestReadModel}, for the read model in use or the next one, as this transaction sees it. */
export async function digestSchema(trx: Trx, schema: ProjectionSchema): Promise<Digest> {
  // A fresh replay has no statistics: Postgres would sort for every chunk, although the primary key has the order.
  await sql`set local enable_sort = off`.execute(trx)
  const hash = createHash('sha256')
  const records = await hashRows(trx, recordsOf(schema), hash)
  const loans = await hashRows(trx, rowsOf(schema, 'loans'), hash)
  const channels = await hashRows(trx, rowsOf(schema, 'channels'), hash)
  for (const [key, rows] of keyedOf(schema)) await hashKeyed(trx, key, rows, hash)
  // Excludes the version, which is random.
  const { text, foldedPosition } = await trx
    .withSchema(schema)
    .selectFrom('fold_state')
    .select(sql<string>`row(only_row, folded_position, records, channels)::text`.as('text'))
    .select('folded_position as foldedPosition')
    .executeTakeFirstOrThrow()
  hash.update(text)
  return { digest: hash.digest('hex'), records, loans, channels, foldedPosition }
}

/** Rows as `id` and `text`, which holds all their values. Plain SQL: the builder has no text of a whole row. */
type Rows = ReturnType<typeof sql>

const rowsOf = (schema: ProjectionSchema, table: 'loans' | 'channels'): Rows =>
  sql`(select id, row::text as text from ${sql.table(`${schema}.${table}`)} row)`

/** Includes the values of a kind instead of its number. */
const recordsOf = (schema: ProjectionSchema): Rows => sql`(
  select record.id, row(record.id, slot, event, loan_type, blockchain, network_id, contract_address, tx_hash, loan_id, network,
    channel, natural_key, created_at, updated_at)::text as text
  from ${sql.table(`${schema}.activity`)} record
  join ${sql.table(`${schema}.record_kinds`)} kind on kind.id = record.kind
)`

/** The tables whose rows have a key of several columns, and so no id. */
const keyedOf = (schema: ProjectionSchema): [key: string[], rows: Rows][] => [
  [
    ['id', 'until'],
    sql`(
      select past.id, until, row(past.id, since, until, event, loan_type, blockchain, network_id, contract_address, tx_hash,
        loan_id, natural_key, created_at, updated_at)::text as text
      from ${sql.table(`${schema}.activity_past`)} past
      join ${sql.table(`${schema}.record_kinds`)} kind on kind.id = past.kind
    )`,
  ],
  ...(
    [
      ['loan_lists', ['list', 'id']],
      ['loan_lists_past', ['list', 'id', 'until']],
      ['daily', ['loan_type', 'network_id', 'token', 'day']],
      ['derived_states', ['loan_type', 'loan_id', 'position']],
      ['channels_past', ['loan_type', 'loan_id', 'role', 'until', 'network', 'robust']],
    ] as const
  ).map(([table, key]): [string[], Rows] => [[...key], keyedRows(schema, table, key)]),
]

function keyedRows(schema: ProjectionSchema, table: string, key: readonly string[]): Rows {
  const columns = sql.join(key.map((name) => sql.ref(name)))
  return sql`(select ${columns}, row::text as text from ${sql.table(`${schema}.${table}`)} row)`
}

async function hashRows(trx: Trx, table: Rows, hash: ReturnType<typeof createHash>): Promise<number> {
  let count = 0
  let lastId = 0
  for (;;) {
    const { rows } = await sql<{ id: number; text: string }>`
      select id, text from ${table} as rows where id > ${lastId} order by id limit ${CHUNK}`.execute(trx)
    for (const { text } of rows) hash.update(text).update('\n')
    count += rows.length
    lastId = rows.at(-1)?.id ?? lastId
    if (rows.length < CHUNK) return count
  }
}

/** Rows in the order of their key, each with `text`. */
async function hashKeyed(
  trx: Trx,
  key: readonly string[],
  table: Rows,
  hash: ReturnType<typeof createHash>,
): Promise<void> {
  const columns = sql.join(key.map((name) => sql.ref(name)))
  for (let last: Record<string, string> | undefined; ;) {
    const after =
      last === undefined ? sql`` : sql`where (${columns}) > (${sql.join(key.map((name) => last?.[name]))})`
    const { rows } = await sql<Record<string, string> & { text: string }>`
      select ${columns}, text from ${table} as rows ${after} order by ${columns} limit ${CHUNK}`.execute(trx)
    for (const { text } of rows) hash.update(`${text}\n`)
    last = rows.at(-1)
    if (rows.length < CHUNK) return
  }
}
