import { sql } from 'kysely'
import t from 'tap'
import type { Db } from '../../../shared/db/connect.ts'
import { testDatabase } from '../../helpers/database.ts'
import { emptyEvmNode, endWithItsBlock } from '../../helpers/empty-evm-node.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { eventually } from '../../helpers/programs.ts'
import { startOps } from '../../helpers/run-ops.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

const SHORT = [
  ['status'],
  ['digest'],
  ['dead-letters', 'list'],
  ['dead-letters', 'show', '1'],
  ['dead-letters', 'drop', 'all'],
]

void t.test('a command that has nothing to finish ends at the first Ctrl-C', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  await db.transaction().execute(async (trx) => {
    // A busy machine may take longer to start all commands than a session is let be idle.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
    const tables = ['ledger.dead_letters', 'ledger.log_head', 'projection.activity', 'projection.fold_state']
    for (const table of tables)
      await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(trx)
    const running = await Promise.all(
      SHORT.map((args) => startOps(t, { databaseUrl, networks: {} }, ...args)),
    )
    await eventually('all of them wait for the database', async () => (await waiting(db)) === SHORT.length)
    for (const [index, { child, ended }] of running.entries()) {
      child.kill('SIGINT')
      const { code, out, err } = await ended
      const command = SHORT[index]?.join(' ') ?? ''
      t.equal(code, 1, command)
      t.equal(out, '', command)
      t.match(err, /^ops: interrupted/, command)
    }
  })
})

async function waiting(db: Db): Promise<number> {
  const { rows } = await sql`select from pg_stat_activity
    where application_name = 'loan-activity ops' and wait_event_type = 'Lock' and datname = current_database()`.execute(
    db,
  )
  return rows.length
}

void t.test('an interrupted verify says what it compared, and that it begins anew', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  const { networks, block } = await emptyEvmNode(t)
  await ingestStories(db, tellStories(3, 4))
  await endWithItsBlock(db, 5000)
  const interrupted = async (silentFrom: number, ...args: string[]): Promise<string> => {
    Object.assign(block, { silentFrom, silent: 0 })
    const { child, ended } = await startOps(
      t,
      { databaseUrl, networks },
      ...['verify', '--network', 'evm:31337', ...args],
    )
    await eventually('it waits for the node', () => block.silent > 0)
    child.kill('SIGINT')
    const { code, out, err } = await ended
    t.equal(code, 1, err)
    return out
  }
  const some =
    /^evm:31337 blocks 0 to (\d+): .*\ninterrupted: blocks (\d+) to 5000 are not compared, and another verify begins anew\n$/m.exec(
      await interrupted(4000),
    )
  t.ok(some)
  t.equal(Number(some?.[2]), Number(some?.[1]) + 1)
  t.match(
    await interrupted(0),
    /^evm:31337 no block: .*\ninterrupted: blocks 0 to 5000 are not compared, and another verify begins anew\n$/,
  )
  t.match(JSON.parse(await interrupted(0, '--json')), { from: 0, to: null, finished: false, differences: [] })
})
