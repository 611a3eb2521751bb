import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import type { Db } from '../../shared/db/connect.ts'
import { startProxy, type Fault, type Request } from '../chain/sources/faulty-proxy.ts'
import { rpc } from '../chain/sources/little-chain.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { runOps, type Ran } from '../helpers/run-ops.ts'

t.setTimeout(600_000)

const NETWORK = 'evm:31337'

/** Block 0 is the same in all histories: a fork shares its beginning with what it left. */
const GENESIS_TIME_S = Math.floor(Date.now() / 1000)

/** A chain of the same id and with the same contracts at the same addresses; its blocks but the first are its own. */
async function startHistory(
  t: Test,
  seed: number,
  loans: number,
): Promise<{ url: string; contract: string }> {
  const anvil = await startAnvil({ slotsInAnEpoch: 2, genesisTimeS: GENESIS_TIME_S })
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed })
  for (let played = 0; played < loans; played += 3) {
    await player.playLoans(3)
    await rpc(anvil.url, 'anvil_mine', ['0x3'])
  }
  return { url: anvil.url, contract: deployment.erc20Loans }
}

/** The requests that `isTheirs` picks are answered by the node of the other history. */
function answeredBy(url: string, isTheirs: (requests: readonly Request[]) => boolean): Fault {
  return async (requests, _truth, isBatch) => {
    if (!isTheirs(requests)) return null
    const calls = requests.map((request) => ({ jsonrpc: '2.0', ...request }))
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(isBatch ? calls : calls[0]),
    })
    return { body: await response.text() }
  }
}

/** All that a reindex writes. */
interface Written {
  log: unknown
  position: unknown
  operations: unknown
}

async function written(db: Db): Promise<Written> {
  const { rows } = await sql<Written>`
    select (select jsonb_agg(l.natural_key || l.op || l.block_hash order by position) from ledger.event_log l) as log,
      (select jsonb_agg(p) from ledger.chain_position p) as position,
      (select jsonb_agg(o) from ledger.operations o) as operations`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('a select without a table has one row')
  return row
}

/** What no program of ours does: takes entries out of the log. How many. */
async function removeByHand(db: Db): Promise<number> {
  await sql`alter table ledger.event_log disable trigger event_log_is_append_only`.execute(db)
  const { numAffectedRows } = await sql`delete from ledger.event_log where position % 5 = 2`.execute(db)
  await sql`alter table ledger.event_log enable trigger event_log_is_append_only`.execute(db)
  return Number(numAffectedRows)
}

void t.test('what is final is not read again from a node of another history', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const ours = await startHistory(t, 31, 12)
  const other = await startHistory(t, 32, 24)
  t.equal(other.contract, ours.contract)
  const proxy = await startProxy(t, ours.url)
  const networks = {
    evm: [
      {
        blockchain: 'DEVNET',
        networkId: '31337',
        rpcUrls: [proxy.url],
        pollIntervalMs: 50,
        maxBlockRange: 5,
        erc20Loans: { address: ours.contract },
      },
    ],
  }
  const ops = (command: string, ...args: string[]): Promise<Ran> =>
    runOps(t, { databaseUrl, networks }, command, '--network', NETWORK, ...args)
  const indexer = await indexerProcess(t, { databaseUrl, networks })
  indexer.start()
  await untilSynced(db, ours.url, indexer)
  const finalized = async (): Promise<number> =>
    (await db.selectFrom('ledger.chain_position').select('finalized_number').executeTakeFirst())
      ?.finalized_number ?? -1
  for (let waited = 0; (await finalized()) < 20 && waited < 100; waited += 1)
    await new Promise((resolve) => setTimeout(resolve, 100))
  t.equal(await indexer.stop(), 0)
  const final = await finalized()
  t.ok(final >= 20, `block ${final} is final`)
  const removed = await removeByHand(db)
  t.ok(removed > 3, `${removed} entries are gone`)
  const before = await written(db)

  await t.test('the whole node is of another history: it is not believed', async (t) => {
    proxy.fault = answeredBy(other.url, () => true)
    const later = ['--from', String(final + 1)]
    for (const [command = '', ...args] of [['reindex', '--to', '10'], ['reindex', ...later], ['verify']]) {
      const ran = await ops(command, ...args)
      t.match(ran, { code: 1, out: '' }, `${command} ${args.join(' ')}`)
      t.match(ran.err, new RegExp(`block ${final} is 0x\\w{64} there, but 0x\\w{64} is final`))
      t.match(ran.err, /empty database/, 'and what can be done is told')
    }
    t.same(await written(db), before, 'nothing was written')
  })

  await t.test('one backend of an address is: what it says is not taken for what ours would', async (t) => {
    const mark = `0x${final.toString(16)}`
    const asksFinal = (requests: readonly Request[]): boolean =>
      requests.some(({ params }) => params[0] === mark || params[0] === 'latest')
    proxy.fault = answeredBy(other.url, (requests) => !asksFinal(requests))
    t.match(await ops('reindex', '--to', '18'), { code: 1, out: '', err: /does not continue|is final/ })
    // The oldest blocks are of both histories: the reindex may have come past them.
    const { log, position } = await written(db)
    t.same({ log, position }, { log: before.log, position: before.position }, 'nothing was written')
  })

  await t.test('the address changes to another history on the way: what was true stays', async (t) => {
    let ranges = 0
    proxy.fault = answeredBy(other.url, (requests) => {
      if (requests.some(({ method }) => method === 'eth_getLogs')) ranges += 1
      return ranges > 3
    })
    const ran = await ops('reindex')
    t.match(ran, { code: 1, out: '', err: /is final/ })
    const { rows } =
      await sql`select from ledger.event_log where op <> 'append' or cause = 'retract'`.execute(db)
    t.same(rows, [], 'nothing was taken back')
  })

  await t.test('from our history it goes on, and nothing differs any more', async (t) => {
    proxy.fault = () => null
    t.match(await ops('reindex'), { code: 0, out: /0 different, 0 foreign/ })
    t.match(await ops('verify'), { code: 0, out: /0 missing, 0 different, 0 foreign/ })
    t.match(await ops('verify', '--to', '10'), { code: 0, out: /0 missing, 0 different, 0 foreign/ })
    t.match(await ops('verify', '--from', String(final)), { code: 0, out: /0 missing/ })
  })
})
