import { sql } from 'kysely'
import t from 'tap'
import { testDatabase } from '../../helpers/database.ts'
import { runOps } from '../../helpers/run-ops.ts'

void t.test('commands that write refuse a database without writes, in one line', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  await sql`do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`.execute(
    db,
  )
  const ops = (...args: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl, networks: { evm: [], filecoin: [] } }, ...args)
  for (const args of [['migrate'], ['roles'], ['replay'], ['dead-letters', 'drop', 'all']]) {
    t.strictSame(
      await ops(...args),
      {
        code: 2,
        out: '',
        err: 'ops: DATABASE_URL leads to a read-only database: name one that takes writes\n',
      },
      args.join(' '),
    )
  }
  t.match(await ops('dead-letters', 'list'), { code: 0, out: 'no dead letters\n', err: '' })
})
