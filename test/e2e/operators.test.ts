import { sql } from 'kysely'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { findPosition } from '../../indexer/event-log/chain-position.ts'
import { replay } from '../../indexer/ingest/replay.ts'
import type { Db } from '../../shared/db/connect.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { recordsWithKeys } from '../helpers/log-views.ts'
import { runOps, type Ran } from '../helpers/run-ops.ts'

t.setTimeout(900_000)

type Ids = Map<string, number>

async function idsOf(db: Db): Promise<Ids> {
  return new Map((await recordsWithKeys(db)).map(({ naturalKey, id }) => [naturalKey, id]))
}

/** What no program of ours does: takes entries out of the log. Their keys. */
async function removeByHand(db: Db): Promise<string[]> {
  await sql`alter table ledger.event_log disable trigger event_log_is_append_only`.execute(db)
  const { rows } = await sql<{ natural_key: string }>`
    delete from ledger.event_log where natural_key in (
      select natural_key from ledger.event_log where position % 5 = 2) returning natural_key`.execute(db)
  await sql`alter table ledger.event_log enable trigger event_log_is_append_only`.execute(db)
  return [...new Set(rows.map((row) => row.natural_key))]
}

/** An entry for an event that no chain ever had. Its key. */
async function addForeign(db: Db): Promise<string> {
  const key = `0x${'ee'.repeat(32)}/erc20Loans/0/Payback`
  await sql`
    with head as (update ledger.log_head set last_position = last_position + 1 returning last_position)
    insert into ledger.event_log
    select head.last_position, head.last_position, network, blockchain, 'append', ${key}, 1, subject, null, kind,
      block_number, block_hash, log_index + 1000, jsonb_set(body::jsonb, '{txHash}', to_jsonb('0x' || repeat('ee', 32))), null, recorded_at
    from ledger.event_log, head where kind = 'Payback' order by position limit 1`.execute(db)
  return key
}

/** Reads until told to stop, and answers how many records there were each time. */
async function watchHistory(
  t: Parameters<typeof testDatabase>[0],
  db: Db,
  signal: AbortSignal,
): Promise<number[]> {
  const counts: number[] = []
  while (!signal.aborted) {
    const { rows } = await sql<{ records: number; counted: number }>`
      select count(*) as records, (select coalesce(sum(records), 0)::bigint from projection.activity_counts where level = 2) as counted
      from projection.activity`.execute(db)
    const { records, counted } = rows[0] ?? { records: -1, counted: 0 }
    if (records !== counted) t.fail(`a half-built read model: ${records} records, ${counted} of them counted`)
    counts.push(records)
  }
  return counts
}

void t.test('operators’ commands against a real chain', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 5 })
  const networks = {
    evm: [
      {
        blockchain: 'DEVNET',
        networkId: '31337',
        rpcUrls: [anvil.url],
        pollIntervalMs: 50,
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
    ],
  }
  const ops = (...args: string[]): Promise<Ran> => runOps(t, { databaseUrl, networks }, ...args)
  const indexer = await indexerProcess(t, { databaseUrl, networks })
  await player.playLoans(30)
  indexer.start()
  await untilSynced(db, anvil.url, indexer)

  await t.test('status tells what is followed, and its exit code whether all is well', async (t) => {
    let ran = await ops('status', '--json')
    // The index may be at the head a moment before its indexer has said so.
    for (let tries = 1; ran.code !== 0 && tries < 20; tries += 1) ran = await ops('status', '--json')
    t.equal(ran.code, 0, ran.err)
    t.match(JSON.parse(ran.out), { networks: [{ network: 'evm:31337', state: 'following', problem: null }] })
  })

  await t.test('replay gives the same digest', async (t) => {
    const before = await ops('digest')
    const ran = await ops('replay')
    t.equal(ran.code, 0, ran.err)
    t.equal((await ops('digest')).out, before.out)
  })

  await t.test('audit and verify find nothing on a good index', async (t) => {
    const audit = await ops('audit')
    t.match(audit, { code: 0, out: /^30 loans and 0 channels compared, 0 differences/ })
    t.match(await ops('verify', '--network', 'evm:31337'), {
      code: 0,
      out: /0 missing, 0 different, 0 foreign/,
    })
    const chainRules = (await findPosition(db, 'evm:31337'))?.chainRules
    t.same(chainRules, { headers: true, receipts: true, transactions: true }, 'the rules are remembered')
  })

  await t.test('a proof of state finds a loan that the index lacks, which a comparison cannot', async (t) => {
    t.match(await ops('audit', '--proof'), {
      code: 0,
      out: /^30 loans and 0 channels compared, 0 differences/,
    })
    t.match((await ops('status')).out, /complete from 0 to \d+, proven by: .*; state at \d+/)
    await sql`delete from projection.loans where (loan_type, loan_id) in (
      select loan_type, loan_id from projection.loans where contract_loan_id = '7' limit 1)`.execute(db)
    t.match(await ops('audit'), { code: 0, out: /^29 loans/ })
    const proof = await ops('audit', '--proof')
    t.match(proof, { code: 1, out: /loan 7 of its contract: loan is null in the index, made on the chain/ })
    t.equal((await ops('replay')).code, 0)
  })

  await t.test(
    'reindex fills what was removed from the log, takes back what is not on the chain, and leaves the rest',
    async (t) => {
      t.equal(await indexer.stop(), 0)
      const before = await idsOf(db)
      const removed = await removeByHand(db)
      const foreign = await addForeign(db)
      t.ok(removed.length > 10)
      t.equal((await ops('replay')).code, 0, 'the read model follows the log')
      const broken = await idsOf(db)
      t.ok(broken.has(foreign))
      t.notOk(removed.some((key) => broken.has(key)))
      t.equal((await ops('audit')).code, 1)
      const verify = await ops('verify', '--network', 'evm:31337')
      t.equal(verify.code, 1)
      t.match(verify.out, `not on the chain: block`)
      t.match(verify.out, `${removed.length} missing, 0 different, 1 foreign`)

      const ran = await ops('reindex', '--network', 'evm:31337', '--json')
      t.equal(ran.code, 0, ran.err)
      t.match(JSON.parse(ran.out), { appended: removed.length, replaced: 0, retracted: 1, finished: true })
      const after = await idsOf(db)
      t.notOk(after.has(foreign), 'the stranger is gone')
      t.strictSame([...after.keys()].sort(), [...before.keys()].sort(), 'the gap is filled')
      const others = [...before].filter(([key]) => !removed.includes(key))
      t.ok(
        others.every(([key, id]) => after.get(key) === id),
        'all other ids are what they were',
      )
      t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])
      t.match(await ops('verify', '--network', 'evm:31337'), { code: 0 })
      const digest = await ops('digest')
      await ops('replay')
      t.equal((await ops('digest')).out, digest.out, 'and a replay agrees')
    },
  )

  await t.test('an interrupted replay goes on, while the indexer writes and readers read', async (t) => {
    indexer.start()
    const stop = new AbortController()
    const seen: number[] = []
    const finished = await replay(db, {
      restart: true,
      signal: stop.signal,
      onProgress: ({ foldedPosition }) => {
        seen.push(foldedPosition)
        stop.abort()
      },
    })
    if (!finished)
      t.ok(
        (await sql`select 1 from pg_namespace where nspname = 'projection_next'`.execute(db)).rows.length ===
          1,
      )
    const read = new AbortController()
    const reader = watchHistory(t, db, read.signal)
    const playing = player.playLoans(20)
    for (let round = 0; round < 5; round += 1) {
      await replay(db, { restart: false, signal: new AbortController().signal, onProgress: () => undefined })
    }
    await playing
    await untilSynced(db, anvil.url, indexer)
    read.abort()
    const counts = await reader
    t.ok(
      counts.every((count, index) => index === 0 || count >= (counts[index - 1] ?? 0)),
      'readers never saw the history shrink',
    )
    t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])
    const digest = await ops('digest')
    await ops('replay')
    t.equal((await ops('digest')).out, digest.out)
  })

  await t.test('a range without a block is a mistake, and not a range without a difference', async (t) => {
    for (const command of ['verify', 'reindex']) {
      const of = (from: string, to?: string): Promise<Ran> =>
        ops(command, '--network', 'evm:31337', '--from', from, ...(to === undefined ? [] : ['--to', to]))
      t.match(await of('5', '4'), {
        code: 2,
        out: '',
        err: /blocks 5 to 4: evm:31337 is indexed from 0 to \d+/,
      })
      t.match(await of('900000'), { code: 2, out: '', err: /blocks 900000 to \d+: evm:31337 is indexed/ })
      t.match(await of('900000', '900001'), { code: 2, out: '', err: /blocks 900000 to 900001: / })
      t.match(await of('4', '4'), { code: 0, out: /0 missing, 0 different, 0 foreign/ })
    }
  })

  await t.test('wrong use ends with code 2 and says what is right', async (t) => {
    t.match(await ops('reindex', '--network', 'evm:31337', '--from', 'x'), { code: 2, err: /whole number/ })
    t.match(await ops('reindex', '--network', 'evm:5'), { code: 2, err: /no network evm:5 is configured/ })
    t.match(await ops('--help'), { code: 0, out: /replay/ })
    t.match(await ops('replay', '--help'), { code: 0, out: /--restart/ })
  })
  t.equal(await indexer.stop(), 0)
})
