import { sql, type Selectable } from 'kysely'
import type { BlockHeader, BlockRef, TimedBlock } from '../../shared/events/chain-step.ts'
import type { Db } from '../../shared/db/connect.ts'
import { copyRows } from '../../shared/db/copy-rows.ts'
import type { ChainPositionTable } from '../../shared/db/schema.ts'
import { inTransaction, type Trx } from '../../shared/db/transaction.ts'

type ChainRules = Readonly<Record<string, boolean | number>>

/** How far a network is written. A stored row; null fields mean that nothing was written yet. */
export interface ChainPosition {
  startNumber: number
  block: BlockRef | null
  finalized: BlockRef | null
  writerEpoch: number
  /** Epoch of the session that reads this network. */
  readerEpoch: number
  /** Steps of earlier reader sessions may be of other contracts and are not written. */
  stepsFromEpoch: number
  /** The last step that was written; its reader waits for this. */
  written: { readerEpoch: number; sequence: number }
  watched: unknown
  /** Ethereum's rules by name: true for one that the chain is known to follow, a number where it is from that block on. */
  chainRules: ChainRules
}

export async function findPosition(db: Db | Trx, network: string): Promise<ChainPosition | undefined> {
  const row = await db
    .selectFrom('ledger.chain_position')
    .selectAll()
    .where('network', '=', network)
    .executeTakeFirst()
  return row && toPosition(row)
}

/** The same as {@link findPosition}, but nobody else writes this network until the transaction ends. */
export async function lockPosition(trx: Trx, network: string): Promise<ChainPosition | undefined> {
  const row = await trx
    .selectFrom('ledger.chain_position')
    .selectAll()
    .where('network', '=', network)
    .forUpdate()
    .executeTakeFirst()
  return row && toPosition(row)
}

/**
 * Begins a session of a network's reader or writer and returns its epoch. A writer with an earlier epoch can write nothing from
 * here on; a reader with an earlier one ends. Creates the row of a network that was never read.
 */
export async function raiseEpoch(
  db: Db,
  network: string,
  role: 'reader' | 'writer',
  start: { startNumber: number; watched: unknown },
): Promise<number> {
  const column = `${role}_epoch` as const
  const row = await db
    .insertInto('ledger.chain_position')
    .values({
      network,
      start_number: start.startNumber,
      watched: JSON.stringify(start.watched),
      [column]: 1,
    })
    .onConflict((conflict) =>
      conflict
        .column('network')
        .doUpdateSet({ [column]: sql`${sql.ref(`ledger.chain_position.${column}`)} + 1` }),
    )
    .returning(`${column} as epoch`)
    .executeTakeFirstOrThrow()
  return row.epoch
}

/**
 * Changes the watched contracts of a network of which nothing is written. Steps of readers before `readerEpoch` may be of other
 * contracts and are not written any more.
 */
export async function putWatched(
  db: Db,
  network: string,
  readerEpoch: number,
  start: { startNumber: number; watched: unknown },
): Promise<void> {
  await db
    .updateTable('ledger.chain_position')
    .set({
      start_number: start.startNumber,
      watched: JSON.stringify(start.watched),
      steps_from_epoch: readerEpoch,
    })
    .where('network', '=', network)
    .where('number', 'is', null)
    .execute()
}

/** Adds rules that the chain was found to follow, and those that it follows from a lower block on. Others stay as they are. */
export async function putChainRules(db: Db, network: string, rules: ChainRules): Promise<void> {
  await inTransaction(db, async (trx) => {
    const known = (await lockPosition(trx, network))?.chainRules ?? {}
    const stronger = Object.entries(rules).filter(([rule, found]) => isStronger(found, known[rule]))
    if (stronger.length === 0) return
    await trx
      .updateTable('ledger.chain_position')
      .set({ chain_rules: JSON.stringify({ ...known, ...Object.fromEntries(stronger) }) })
      .where('network', '=', network)
      .execute()
  })
}

function isStronger(found: boolean | number, known: boolean | number | undefined): boolean {
  if (known === undefined) return true
  return typeof known === 'number' && (typeof found === 'number' ? found < known : found)
}

/** Notes in a step's transaction that it was written. */
export async function noteWritten(
  trx: Trx,
  network: string,
  { readerEpoch, sequence }: ChainPosition['written'],
): Promise<void> {
  await trx
    .updateTable('ledger.chain_position')
    .set({ written_epoch: readerEpoch, written_sequence: sequence })
    .where('network', '=', network)
    .execute()
}

/**
 * Declares that the index is made of these contracts, after all blocks were read again with them. A reader of the old contracts
 * ends, and its steps are not written. `last` is the last block that was read again. Returns false if the position has moved on
 * from it: the blocks after it must be read as well.
 */
export function adoptWatched(
  db: Db,
  network: string,
  last: BlockRef,
  start: { startNumber: number; watched: unknown },
): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const position = await lockPosition(trx, network)
    if (position?.block?.hash !== last.hash) return false
    await trx
      .updateTable('ledger.chain_position')
      .set({
        start_number: start.startNumber,
        watched: JSON.stringify(start.watched),
        reader_epoch: sql`reader_epoch + 1`,
        steps_from_epoch: sql`reader_epoch + 1`,
      })
      .where('network', '=', network)
      .execute()
    return true
  })
}

/** The watched contracts of every network that was ever read. */
export async function getWatched(db: Db): Promise<{ network: string; watched: unknown }[]> {
  return db
    .selectFrom('ledger.chain_position')
    .select(['network', 'watched'])
    .where('number', 'is not', null)
    .execute()
}

export async function movePosition(trx: Trx, network: string, to: TimedBlock): Promise<void> {
  await trx
    .updateTable('ledger.chain_position')
    .set({ number: to.number, hash: to.hash, time_s: to.timeS, moved_at: sql`clock_timestamp()` })
    .where('network', '=', network)
    .execute()
}

export async function moveFinalized(trx: Trx, network: string, block: BlockRef): Promise<void> {
  await trx
    .updateTable('ledger.chain_position')
    .set({ finalized_number: block.number, finalized_hash: block.hash })
    .where('network', '=', network)
    .execute()
}

/**
 * Notes where the log ends after a step that wrote the blocks from `from` on. If the log has not grown since the
 * network's last row, that row covers these blocks too.
 */
export async function putBlockPosition(trx: Trx, network: string, from: number): Promise<void> {
  await sql`
    insert into ledger.block_positions (network, number, position)
    select ${network}::text, ${from}::bigint, last_position from ledger.log_head where last_position is distinct from (
      select position from ledger.block_positions where network = ${network} order by network desc, number desc limit 1
    )`.execute(trx)
}

/** Forgets what was noted for the blocks from `from` on, which a reorg replaces. */
export async function forgetBlockPositions(trx: Trx, network: string, from: number): Promise<void> {
  await trx
    .deleteFrom('ledger.block_positions')
    .where('network', '=', network)
    .where('number', '>=', from)
    .execute()
}

/** The headers of blocks that can still be reorganized, ascending. */
export async function getHeaders(db: Db | Trx, network: string): Promise<BlockHeader[]> {
  const rows = await db
    .selectFrom('ledger.block_headers')
    .selectAll()
    .where('network', '=', network)
    .orderBy('number')
    .execute()
  return rows.map((row) => ({
    number: row.number,
    hash: row.hash,
    parentHash: row.parent_hash,
    timeS: row.time_s,
  }))
}

export async function findHeaderHash(trx: Trx, network: string, number: number): Promise<string | undefined> {
  const row = await trx
    .selectFrom('ledger.block_headers')
    .select('hash')
    .where('network', '=', network)
    .where('number', '=', number)
    .executeTakeFirst()
  return row?.hash
}

/**
 * Replaces the headers after the block `after` with `headers`. Blocks without headers are final, and so are all before them.
 * Their headers are deleted as well, because they would not lead up to the position.
 */
export async function putHeaders(
  trx: Trx,
  network: string,
  after: number,
  headers: BlockHeader[],
): Promise<void> {
  await trx
    .deleteFrom('ledger.block_headers')
    .where('network', '=', network)
    .where('number', '>', headers.length === 0 ? -1 : after)
    .execute()
  await copyRows(
    trx,
    'ledger.block_headers',
    headers.map(({ number, hash, parentHash, timeS }) => ({
      network,
      number,
      hash,
      parent_hash: parentHash,
      time_s: timeS,
    })),
  )
}

/** Deletes the headers below `number`, whose blocks are final. */
export async function forgetHeadersBelow(trx: Trx, network: string, number: number): Promise<void> {
  await trx
    .deleteFrom('ledger.block_headers')
    .where('network', '=', network)
    .where('number', '<', number)
    .execute()
}

/**
 * Stores that contract state at `block` was proven equal to the index. A block that a reorg replaced meanwhile, or whose
 * header is no longer kept, is not stored.
 */
export async function noteProvenState(db: Db, network: string, { number, hash }: BlockRef): Promise<void> {
  await inTransaction(db, async (trx) => {
    await lockPosition(trx, network)
    if ((await findHeaderHash(trx, network, number)) !== hash) return
    await setProvenState(trx, network, number)
  })
}

/**
 * Stores that contract state was proven equal to the index at a final block, or at a later one for some loans. Nothing is
 * stored if a second reading changed the log of blocks up to there after its position `since`.
 */
export async function noteProvenFinal(db: Db, network: string, block: number, since: number): Promise<void> {
  await inTransaction(db, async (trx) => {
    // A second reading locks the position too.
    const position = await lockPosition(trx, network)
    if ((position?.finalized?.number ?? -1) < block) return
    // The fence makes Postgres read the entries after `since` alone, not all of the network's.
    const { rows } = await sql`
      select from (select network, block_number from ledger.event_log where position > ${since} offset 0) as newer
      where network = ${network} and block_number <= ${block} limit 1`.execute(trx)
    if (rows.length === 0) await setProvenState(trx, network, block)
  })
}

/** The block of the newest proof of state; null if there is none. */
export async function findProvenState(db: Db | Trx, network: string): Promise<number | null> {
  const position = await db
    .selectFrom('ledger.chain_position')
    .select('state_proven')
    .where('network', '=', network)
    .executeTakeFirst()
  return position?.state_proven ?? null
}

/** Forgets a proof of state above `ancestor`: the log of blocks above it changed. */
export async function forgetProvenState(trx: Trx, network: string, ancestor: number): Promise<void> {
  if (((await findProvenState(trx, network)) ?? -1) > ancestor) await setProvenState(trx, network, null)
}

async function setProvenState(trx: Trx, network: string, block: number | null): Promise<void> {
  await trx
    .updateTable('ledger.chain_position')
    .set({ state_proven: block })
    .where('network', '=', network)
    .execute()
}

function toPosition(row: Selectable<ChainPositionTable>): ChainPosition {
  return {
    startNumber: row.start_number,
    block: row.number === null || row.hash === null ? null : { number: row.number, hash: row.hash },
    finalized:
      row.finalized_number === null || row.finalized_hash === null
        ? null
        : { number: row.finalized_number, hash: row.finalized_hash },
    writerEpoch: row.writer_epoch,
    readerEpoch: row.reader_epoch,
    stepsFromEpoch: row.steps_from_epoch,
    written: { readerEpoch: row.written_epoch, sequence: row.written_sequence },
    watched: row.watched,
    chainRules: row.chain_rules,
  }
}
