import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import * as z from 'zod'
import { buildApp } from '../../api/app.ts'
import { openReadDatabase } from '../../api/queries/read-database.ts'
import { createRpc, hex } from '../../devnet/evm/rpc.ts'
import { createLotusRpc, tipsetSchema } from '../../devnet/loans/lotus-rpc.ts'
import { replay } from '../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import type { Db } from '../../shared/db/connect.ts'
import { messageOf } from '../../shared/errors.ts'
import { createLogger } from '../../shared/log.ts'
import { compareChannels } from '../helpers/compare-channels.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { withoutStranded } from '../helpers/stranded-channels.ts'
import { runScript } from '../helpers/programs.ts'
import { explainChannels } from './explain-channels.ts'
import { SETTLE_DELAY, type Stage } from './stage.ts'
import { RECORDS } from '../helpers/log-views.ts'

/** Checks after the faults have stopped. Each returns its complaints in lines; empty: all is well. */

const SYNC_WITHIN_MS = 90_000
/** The node's own vouchers are read every 30 seconds. */
const CHANNELS_WITHIN_MS = 60_000
const DEAD_STEPS = 'steps-%'
/** The refusals of forged jobs: for these reasons, or because they take too much memory. */
const FORGED = /^not a job of this|took too much memory|too large/

/** Waits until both networks are at their nodes' heads. */
export async function untilSynced(stage: Stage, withinMs = SYNC_WITHIN_MS): Promise<string[]> {
  const until = Date.now() + withinMs
  for (;;) {
    const wanted = await heads(stage)
    const positions = await stage.db
      .selectFrom('ledger.chain_position')
      .select(['network', 'number', 'hash'])
      .execute()
      .catch(() => [])
    const late = wanted.filter(
      ({ network, hash }) =>
        !positions.some((position) => position.network === network && position.hash === hash),
    )
    if (late.length === 0) return []
    if (Date.now() > until)
      return late.map(({ network, hash }) => {
        const ours = positions.find((position) => position.network === network)
        return `${network} is at ${ours?.number ?? 'nothing'} ${ours?.hash ?? ''} after ${withinMs} ms, its node at ${hash}`
      })
    await sleep(100)
  }
}

async function heads({ anvil, lotus }: Stage): Promise<{ network: string; hash: string }[]> {
  const block = await createRpc(anvil.url).call(
    z.object({ hash: hex }),
    'eth_getBlockByNumber',
    'latest',
    false,
  )
  const head = await createLotusRpc(lotus.url).call(tipsetSchema, 'ChainHead')
  // A tipset counts once its child has its receipts.
  return [
    { network: 'evm:31337', hash: block.hash },
    { network: 'filecoin:testnet', hash: head.Blocks[0]?.Parents.join() ?? '' },
  ]
}

export interface Truth {
  records: number
  loans: number
  channels: number
  differences: string[]
}

/** Compares records and loans with both chains and the player's diary. */
export async function compareWithTruth(stage: Stage): Promise<Truth> {
  const { db, anvil, deployment, lotus, player, database } = stage
  const contracts = await compareWithChain(db, anvil.url, deployment)
  const reading = openReadDatabase(database.url, { onError: () => undefined })
  const app = await buildApp({
    database: reading,
    log: createLogger('simulation', 'silent'),
    version: '0.0.0',
  })
  try {
    const scene = { db, app, rpcUrl: anvil.url, deployment, lotus, player, settleDelayEpochs: SETTLE_DELAY }
    const until = Date.now() + CHANNELS_WITHIN_MS
    let channels = await compareChannels(scene)
    let differences = await withoutStranded(scene, channels.differences)
    while (differences.length > 0 && Date.now() < until) {
      await sleep(1000)
      channels = await compareChannels(scene)
      differences = await withoutStranded(scene, channels.differences)
    }
    const explanations = await explainChannels(db, differences)
    return {
      records: contracts.logs + channels.records,
      loans: contracts.loans,
      channels: channels.channels,
      differences: [
        ...[...contracts.differences, ...differences].map((line) => explained(stage, line)),
        ...explanations,
      ],
    }
  } finally {
    await app.close()
    await reading.close()
  }
}

/** Adds the loan of a message that a line names. */
function explained({ player }: Stage, line: string): string {
  const cid = /\bbafy\w+/.exec(line)?.[0]
  const life = player.lives.find(({ half }) =>
    Object.values(half?.acts ?? {}).some((act) => [act.cid, ...act.earlier].includes(cid ?? '')),
  )
  if (life === undefined) return line
  const { market, loanId, plan, lender, borrower } = life
  return `${line} (sent for the ${plan} of ${market} ${String(loanId)}, ${lender} to ${borrower})`
}

/** Checks that no record exists twice and no step was given up. */
export async function lookForLeftovers({ db }: Stage): Promise<string[]> {
  const twice = await sql<{ tx_hash: string; event: string }>`
    select tx_hash, min(event) as event from ${RECORDS} records where network like 'filecoin:%'
    group by tx_hash, kind, loan_id having count(*) > 1`.execute(db)
  const dead = await sql<{ queue: string; reason: string }>`
    select queue, reason from ledger.dead_letters where queue like ${DEAD_STEPS}`.execute(db)
  return [
    ...twice.rows.map(({ event, tx_hash }) => `two records ${event} of ${tx_hash}`),
    ...dead.rows
      .filter(({ reason }) => !FORGED.test(reason))
      .map(({ queue, reason }) => `a step became a dead letter: ${queue}: ${reason}`),
  ]
}

/** Runs the operators' own checks on everything that was indexed. */
export async function verifyAndAudit({ database, folder }: Stage): Promise<string[]> {
  const commands = [
    ['verify', '--network', 'evm:31337'],
    ['verify', '--network', 'filecoin:testnet'],
    ['audit'],
  ]
  const complaints: string[] = []
  for (const command of commands) {
    const ops = runScript('indexer/cli/main.ts', command, {
      ...{ DATABASE_URL: database.url, NETWORKS_FILE: join(folder, 'networks.json') },
    })
    const { code } = await ops.ended
    if (code !== 0) complaints.push(`ops ${command.join(' ')} ended with ${code ?? 'a signal'}: ${ops.stdout()}${ops.stderr()}`) // prettier-ignore
  }
  return complaints
}

/** Runs after every program has ended. */
export async function lookForLeaks({ db }: Stage): Promise<string[]> {
  for (const waitMs of [0, 100, 500, 2000]) {
    await sleep(waitMs)
    const sessions = await sql<{ application_name: string; query: string }>`
      select application_name, query from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend'
        and application_name not like 'simulation%'`.execute(db)
    const locks = await sql`select 1 from pg_locks where locktype = 'advisory'`.execute(db)
    if (sessions.rows.length + locks.rows.length === 0) return []
    if (waitMs === 2000)
      return [
        ...sessions.rows.map(({ application_name, query }) => `left open: ${application_name}: ${query}`),
        ...locks.rows.map(() => 'an advisory lock is still held'),
      ]
  }
  return []
}

const READ_MODEL = ['activity', 'loans', 'channels'] as const
const MOST_ROWS_TOLD = 6

/** Replays the log and returns the rows in which the read model changes. */
export async function replayDiffers(stage: Stage): Promise<string[]> {
  try {
    return await compareReplay(stage.db)
  } catch (error) {
    return [`the replay failed: ${messageOf(error)}`, ...stage.database.lastWords]
  }
}

async function compareReplay(db: Db): Promise<string[]> {
  const before = await digestReadModel(db)
  await sql`create schema if not exists simulation`.execute(db)
  for (const table of READ_MODEL) {
    await sql`create table ${sql.table(`simulation.${table}`)} as
      select row_to_json(ours)::text as row from ${sql.table(`projection.${table}`)} as ours`.execute(db)
  }
  await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  const after = await digestReadModel(db)
  if (before.digest === after.digest) return []
  const told = await Promise.all(READ_MODEL.map((table) => differingRows(db, table)))
  return ['replay gives another read model', ...told.flat()]
}

async function differingRows(db: Db, table: string): Promise<string[]> {
  const { rows } = await sql<{ side: string; row: string }>`
    with old as (select row from ${sql.table(`simulation.${table}`)}),
         new as (select row_to_json(ours)::text as row from ${sql.table(`projection.${table}`)} as ours)
    select 'before' as side, row from old where row not in (select row from new)
    union all select 'after', row from new where row not in (select row from old)
    order by row limit ${MOST_ROWS_TOLD}`.execute(db)
  return rows.map(({ side, row }) => `${table}, ${side} the replay: ${row}`)
}
