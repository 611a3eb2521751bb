import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import {
  createChannel,
  createdChannel,
  fundChannel,
  signVoucher,
} from '../../devnet/filecoin/channel-actions.ts'
import { startLotus } from '../../devnet/filecoin/lotus.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { addVoucher, openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import type { Db } from '../../shared/db/connect.ts'
import { voucherText } from '../../shared/filecoin/voucher.ts'
import { startProxy, type Fault } from '../chain/sources/faulty-proxy.ts'
import { testApi } from '../helpers/api.ts'
import { compareChannels } from '../helpers/compare-channels.ts'
import { deadLetters } from '../helpers/handed-in.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { LIVE_ENTRIES, recordsWithKeys } from '../helpers/log-views.ts'
import { runOps, type Ran } from '../helpers/run-ops.ts'
import { untilBothSynced } from '../helpers/until-both-synced.ts'

t.setTimeout(1_200_000)

const NETWORK = 'filecoin:testnet'
const SETTLE_DELAY = 5
const EPOCH_S = 2
const PLENTY = 10n ** 24n

async function idsOf(db: Db): Promise<Map<string, number>> {
  return new Map(
    (await recordsWithKeys(db)).map(({ network, naturalKey, id }) => [`${network} ${naturalKey}`, id]),
  )
}

async function entryCount(db: Db, network: string): Promise<number> {
  const { rows } = await sql`select from ${LIVE_ENTRIES} live where network = ${network}`.execute(db)
  return rows.length
}

/**
 * What no program of ours does: takes messages out of the log, creations among them, as if they had never been read.
 * How many.
 */
async function removeByHand(db: Db, where: ReturnType<typeof sql>): Promise<number> {
  await sql`alter table ledger.event_log disable trigger event_log_is_append_only`.execute(db)
  const { rows } = await sql<{ network: string; natural_key: string }>`
    delete from ledger.event_log where (network, natural_key) in (
      select network, natural_key from ledger.event_log where ${where}) returning network, natural_key`.execute(
    db,
  )
  await sql`alter table ledger.event_log enable trigger event_log_is_append_only`.execute(db)
  await sql`delete from ledger.channel_addresses where (network, natural_key) in (
    select * from unnest(${rows.map((row) => row.network)}::text[], ${rows.map((row) => row.natural_key)}::text[]))`.execute(
    db,
  )
  return rows.length
}

/** An entry for a message that no chain ever had: another top-up of a channel. */
async function addForeign(db: Db, kind = 'FundChannel'): Promise<void> {
  const cid = 'bafyforeign'.padEnd(62, 'x')
  await sql`
    with head as (update ledger.log_head set last_position = last_position + 1 returning last_position)
    insert into ledger.event_log
    select head.last_position, head.last_position, network, blockchain, 'append', ${`${cid}/${kind}`}, 1, subject, null, kind,
        block_number, block_hash, log_index + 1000, jsonb_set(body::jsonb, '{txHash}', to_jsonb(${cid}::text))::json, null, recorded_at
    from ledger.event_log, head where kind = ${kind} order by position desc limit 1`.execute(db)
}

/** The node's answers to one method, changed. */
function changed(method: string, change: (result: unknown) => unknown): Fault {
  return async (requests, truth) => {
    const ids = requests.filter((request) => request.method.endsWith(method)).map(({ id }) => id)
    if (ids.length === 0) return null
    return (await truth()).map((answer) =>
      ids.includes(answer.id) && answer.result !== undefined
        ? { ...answer, result: change(answer.result) }
        : answer,
    )
  }
}

async function scene(t: Test) {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const lotus = await startLotus({
    ...{ tickMs: null, epochDurationS: EPOCH_S, settleDelayEpochs: SETTLE_DELAY, seed: 'operators' },
    // What is refused is refused for good only where the channel's making is final.
    finalityEpochs: 10,
  })
  t.teardown(() => lotus.stop())
  const proxy = await startProxy(t, lotus.url)
  const handedIn: string[] = []
  const player = createPlayer({
    ...{ rpcUrl: anvil.url, deployment, seed: 'operators', hostility: 0 },
    filecoin: {
      ...{ lotus, settleDelayEpochs: SETTLE_DELAY, epochDurationS: EPOCH_S, confidence: 12 },
      handIn: (voucher) => handedIn.push(voucher),
    },
  })
  const networks = {
    evm: [
      {
        ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
    ],
    filecoin: [{ networkId: 'testnet', rpcUrls: [proxy.url], pollIntervalMs: 50 }],
  }
  const api = await testApi(t)
  const indexer = await indexerProcess(t, { databaseUrl: api.url, networks })
  const ops = (...args: string[]): Promise<Ran> => runOps(t, { databaseUrl: api.url, networks }, ...args)
  const urls = { evmUrl: anvil.url, lotusUrl: lotus.url }
  const synced = (): Promise<void> => untilBothSynced(api.db, urls, indexer)
  const stage = { db: api.db, app: api.app, rpcUrl: anvil.url, deployment, lotus, player }
  const compare = () => compareChannels({ ...stage, settleDelayEpochs: SETTLE_DELAY })
  return { db: api.db, databaseUrl: api.url, lotus, proxy, player, handedIn, indexer, ops, synced, compare }
}

void t.test('operators’ commands for Filecoin', { timeout: 1_190_000 }, async (t) => {
  const { db, databaseUrl, lotus, proxy, player, handedIn, indexer, ops, synced, compare } = await scene(t)
  const { chain } = lotus
  await player.playLoans(24)
  // A channel that lives on, of no loan: it is in the log and in the audit like the others.
  const maker = await chain.createWallet('secp256k1', 'maker')
  const other = await chain.createWallet('bls', 'other')
  for (const wallet of [maker, other]) await chain.fund(wallet.address, PLENTY)
  await chain.mine(3)
  const made = await createChannel(maker, maker.address, other.address, 1000n)
  await chain.mine(2)
  const living = createdChannel(await chain.waitFor(made), chain.letter)
  await fundChannel(maker, living.id, 5n)
  await chain.mine(15)
  indexer.start()
  await synced()
  const good = voucherText(signVoucher(maker, { channelAddr: living.robust, amount: 7n }))
  const bad = voucherText(signVoucher(chain.faucet, { channelAddr: living.robust, amount: 7n }))

  await t.test('vouchers import takes a file of vouchers, comments and nonsense', async (t) => {
    const file = join(t.testdir(), 'vouchers')
    const lines = [
      '# what the parties sent',
      '',
      ...handedIn,
      good,
      '   ',
      good,
      'nonsense!',
      bad,
      '{"voucher":1}',
    ]
    await writeFile(file, `${lines.join('\n')}\n`)
    const ran = await ops('vouchers', 'import', file, '--json')
    t.equal(ran.code, 1, ran.err)
    const result = z
      .object({
        lines: z.number(),
        accepted: z.number(),
        known: z.number(),
        waiting: z.number(),
        refused: z.number(),
      })
      .parse(JSON.parse(ran.out))
    t.match(result, { lines: lines.length, waiting: 0, refused: 3 })
    t.equal(result.accepted + result.known, handedIn.length + 2)
    const again = join(t.testdir(), 'again')
    await writeFile(again, [...handedIn, good].join('\n'))
    t.match(await ops('vouchers', 'import', again), {
      code: 0,
      out: `0 accepted, ${handedIn.length + 1} known, 0 waiting, 0 refused`,
    })
  })

  // The node's own vouchers are read every 30 seconds, and at the start.
  for (const until = Date.now() + 45_000; (await compare()).differences.length > 0 && Date.now() < until;)
    await delay(1000)
  const { differences, ...counts } = await compare()
  t.same(differences, [], JSON.stringify(counts))

  await t.test('dead letters are listed, shown, retried and dropped', async (t) => {
    const backend = openQueueBackend({ databaseUrl, redisUrl: undefined }, (error) =>
      t.comment(error.message),
    )
    const queue = openVoucherQueue(backend)
    await addVoucher(queue, { voucher: bad }, 'bad')
    await addVoucher(queue, { voucher: 'garbage' }, 'garbage')
    await queue.close()
    backend.close()
    const letter = z.object({ id: z.number(), jobId: z.string(), reason: z.string(), attempts: z.number() })
    const list = async (): Promise<z.infer<typeof letter>[]> => {
      const ran = await ops('dead-letters', 'list', '--json', '--queue', 'vouchers')
      t.equal(ran.code, 0, ran.err)
      return z.object({ deadLetters: z.array(letter) }).parse(JSON.parse(ran.out)).deadLetters
    }
    const until = (attempts: number): Promise<void> =>
      eventually(`${attempts} refusals`, async () => {
        const refused = (await deadLetters(db)).filter(({ queue }) => queue === 'vouchers')
        return refused.reduce((sum, one) => sum + one.attempts, 0) === attempts
      })
    await until(2)
    const letters = await list()
    const [one] = letters.filter(({ jobId: job }) => job === 'voucher-bad')
    t.match(one, { reason: /neither party/, attempts: 1 })
    const id = String(one?.id)
    t.match(await ops('dead-letters', 'show', id), { code: 0, out: bad })
    t.match(await ops('dead-letters', 'retry', id), { code: 0, out: /1 handed in again/ })
    await until(3)
    t.match(await ops('dead-letters', 'drop', id), { code: 0, out: /1 dropped/ })
    t.match(await ops('dead-letters', 'drop', id), { code: 1, out: /0 dropped/ })
    t.match(await ops('dead-letters', 'retry', id), { code: 1, out: /none of this id/ })
    t.match(await ops('dead-letters', 'drop', 'all'), { code: 0, out: /1 dropped/ })
    t.same(await list(), [])
  })

  await t.test('status, verify, audit and replay of a good index', async (t) => {
    const status = await ops('status', '--json')
    t.equal(status.code, 0, status.err)
    t.match(JSON.parse(status.out), {
      networks: [{ state: 'following' }, { network: NETWORK, state: 'following' }],
    })
    t.match(await ops('verify', '--network', NETWORK), { code: 0, out: /0 missing, 0 different, 0 foreign/ })
    const rows = await db
      .selectFrom('ledger.event_log')
      .select('kind')
      .where('network', '=', NETWORK)
      .execute()
    const count = (kind: string): number => rows.filter((row) => row.kind === kind).length
    t.ok(count('CollectChannel') > 3, 'collected channels')
    t.ok(count('CreateChannel') > count('CollectChannel'), 'and living ones')
    const audit = await ops('audit')
    t.match(
      audit,
      { code: 0, out: `and ${count('CreateChannel')} channels compared, 0 differences` },
      audit.err,
    )
    const digest = await digestReadModel(db)
    t.match(await ops('replay'), { code: 0 })
    t.same(await digestReadModel(db), digest)
  })

  await t.test('audit finds a read model, and a node, that say something else', async (t) => {
    const audit = async (difference: RegExp): Promise<void> => {
      const ran = await ops('audit', '--network', NETWORK)
      t.match(ran, { code: 1, out: difference }, ran.err)
    }
    const subject = `channel ${living.id} \\(${living.robust}\\)`
    const put = (state: string) =>
      sql`
      update projection.channels set state = ${state}::jsonb where robust = ${living.robust}`.execute(db)
    const { rows } = await sql<{ state: string }>`
      select state::text from projection.channels where robust = ${living.robust}`.execute(db)
    const [{ state } = { state: '' }] = rows
    await put(state.replace('"deposits": "1005"', '"deposits": "1006"'))
    await audit(new RegExp(`${subject}.*balance.*1006.*1005`))
    await put(state)
    proxy.fault = changed('StateReadState', (result) => ({ ...(result as object), Balance: '17' }))
    await audit(new RegExp(`${subject}.*balance.*1005.*17`))
    proxy.fault = () => null
    // A collected channel has no state any more: its messages must be there.
    await addForeign(db, 'CollectChannel')
    await audit(/message bafyforeign\S+\/CollectChannel/)
    await removeByHand(db, sql`natural_key like 'bafyforeign%'`)
    proxy.fault = changed('ChainGetParentReceipts', (result) =>
      (result as { ExitCode: number }[]).map((receipt) => ({ ...receipt, ExitCode: 16 })),
    )
    const refused = { code: 1, out: '', err: /receipts of the tipset at \d+ are not those under/ }
    t.match(await ops('audit', '--network', NETWORK), refused, 'a lie that the headers show is no answer')
    proxy.fault = () => null
    t.match(await ops('audit', '--network', NETWORK), { code: 0 })
  })

  t.equal(await indexer.stop(), 0)
  const ids = await idsOf(db)
  const onChain = await entryCount(db, NETWORK)
  const offChain = await entryCount(db, 'offchain:testnet')

  await t.test(
    'reindex fills what was removed, with whole channels among it, and takes back a stranger',
    async (t) => {
      const creations = await removeByHand(
        db,
        sql`network = ${NETWORK} and kind = 'CreateChannel' and position % 2 = 0`,
      )
      const messages = await removeByHand(
        db,
        sql`network = ${NETWORK} and kind <> 'CreateChannel' and position % 4 = 1`,
      )
      t.ok(creations > 3 && messages > 3, `${creations} creations and ${messages} messages are gone`)
      await addForeign(db)
      t.match(await ops('replay'), { code: 0 })
      const broken = await idsOf(db)
      t.ok(broken.size < ids.size)
      t.match(await ops('audit', '--network', NETWORK), { code: 1 })
      const verify = await ops('verify', '--network', NETWORK)
      t.match(verify, { code: 1, out: `${creations + messages} missing, 0 different, 1 foreign` })

      const ran = await ops('reindex', '--network', NETWORK, '--json')
      t.equal(ran.code, 0, ran.err)
      t.match(JSON.parse(ran.out), {
        appended: creations + messages,
        replaced: 0,
        retracted: 1,
        finished: true,
      })
      const after = await idsOf(db)
      t.same([...after.keys()].sort(), [...ids.keys()].sort(), 'the gap is filled')
      const moved = [...broken].filter(([key, id]) => after.has(key) && after.get(key) !== id)
      t.same(moved, [], 'all other ids are what they were')
      t.equal(await entryCount(db, NETWORK), onChain)
      t.match(await ops('verify', '--network', NETWORK), { code: 0 })
      t.match(await ops('audit'), { code: 0 })
      t.same((await compare()).differences, [])
      const digest = await digestReadModel(db)
      t.match(await ops('replay'), { code: 0 })
      t.same(await digestReadModel(db), digest, 'and a replay agrees')
    },
  )

  await t.test(
    'a creation that is missing costs its channel’s messages only where they are read again',
    async (t) => {
      const created = sql`network = ${NETWORK} and kind = 'CreateChannel' and body ->> 'channel' = ${living.robust}`
      const { rows } = await sql<{ at: number }>`
      select block_number as at from ledger.event_log where ${created} limit 1`.execute(db)
      const at = Number(rows[0]?.at)
      const removed = await removeByHand(db, created)
      t.equal(removed, 1)
      // Behind the creation: nothing says any more that its receiver is a channel.
      t.match(await ops('reindex', '--network', NETWORK, '--from', String(at + 1)), {
        code: 0,
        out: /1 foreign/,
      })
      t.match(await ops('reindex', '--network', NETWORK, '--from', String(at), '--to', String(at)), {
        code: 0,
        out: /1 missing/,
      })
      t.match(await ops('verify', '--network', NETWORK), {
        code: 1,
        out: /missing in the log: block \d+ bafy\S+\/FundChannel/,
      })
      t.match(await ops('reindex', '--network', NETWORK), {
        code: 0,
        out: /1 missing, 0 different, 0 foreign/,
      })
      t.match(await ops('audit', '--network', NETWORK), { code: 0 })
    },
  )

  await t.test('what was signed off-chain is on no chain: it comes back from where it came', async (t) => {
    const removed = await removeByHand(db, sql`network = 'offchain:testnet'`)
    t.ok(removed >= offChain)
    t.match(await ops('replay'), { code: 0 })
    t.match(await ops('reindex', '--network', NETWORK), { code: 0, out: /0 missing, 0 different, 0 foreign/ })
    const file = join(t.testdir(), 'vouchers')
    await writeFile(file, [...handedIn, good].join('\n'))
    t.match(await ops('vouchers', 'import', file), { code: 0, out: /0 waiting, 0 refused/ })
    indexer.start()
    for (
      const until = Date.now() + 40_000;
      (await entryCount(db, 'offchain:testnet')) < offChain && Date.now() < until;
    )
      await delay(200)
    t.equal(await entryCount(db, 'offchain:testnet'), offChain)
    await synced()
    t.same((await compare()).differences, [])
    const digest = await digestReadModel(db)
    t.match(await ops('replay'), { code: 0 })
    t.same(await digestReadModel(db), digest)
    t.equal(await indexer.stop(), 0)
  })
})
