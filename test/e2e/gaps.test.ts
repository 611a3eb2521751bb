import { sql } from 'kysely'
import t from 'tap'
import { startLotus } from '../../devnet/filecoin/lotus.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import type { Db } from '../../shared/db/connect.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { testDatabase } from '../helpers/database.ts'
import { forgetRanges } from '../helpers/forget-ranges.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { playedChain } from '../helpers/played-chain.ts'
import { eventually } from '../helpers/programs.ts'
import { runOps } from '../helpers/run-ops.ts'
import { untilBothSynced } from '../helpers/until-both-synced.ts'

t.setTimeout(200_000)

const NETWORKS = ['evm:31337', 'filecoin:testnet']

/** Takes some entries out of the log, as no program does. The last one stays: the read model is folded up to it. */
async function removeByHand(db: Db): Promise<number> {
  await sql`alter table ledger.event_log disable trigger event_log_is_append_only`.execute(db)
  const { rows } = await sql`
    delete from ledger.event_log where network = 'evm:31337' and position % 5 = 2
      and position < (select last_position from ledger.log_head) returning position`.execute(db)
  await sql`alter table ledger.event_log enable trigger event_log_is_append_only`.execute(db)
  return rows.length
}

void t.test('blocks that are not recorded as read are read again by themselves', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const { anvil, deployment, player, network } = await playedChain(t, 453)
  const lotus = await startLotus({ tickMs: null, seed: 'gaps', nullRoundChance: 0.2, finalityEpochs: 10 })
  t.teardown(() => lotus.stop())
  await lotus.chain.mine(40)
  await player.playLoans(10)
  const networks = {
    evm: [network],
    filecoin: [{ networkId: 'testnet', rpcUrls: [lotus.url], pollIntervalMs: 50 }],
  }
  const setup = { databaseUrl, networks }
  const indexer = await indexerProcess(t, setup)
  const synced = (): Promise<void> => untilBothSynced(db, { evmUrl: anvil.url, lotusUrl: lotus.url }, indexer)
  const status = async (): Promise<string> => (await runOps(t, setup, 'status')).out
  const filled = async (network: string, gap: number, found: string): Promise<void> => {
    const lines = (): { network: string; from: number; to: number; msg: string }[] =>
      indexer.output
        .split('\n')
        .filter((line) => line.includes(`"network":"${network}"`) && line.includes('not recorded as read'))
        .map((line) => JSON.parse(line) as ReturnType<typeof lines>[number])
    await eventually(
      () => `${network} reads its gap: ${indexer.output}`,
      () => lines().length > 0,
    )
    t.same(
      lines().map(({ from, to }) => to - from + 1),
      [gap],
      'one line, with the whole gap',
    )
    t.match(lines()[0]?.msg, found)
  }
  indexer.start()
  await synced()
  t.equal(await indexer.stop(), 0)
  const before = await digestReadModel(db)

  const gaps = await Promise.all(NETWORKS.map((network) => forgetRanges(db, network)))
  t.ok(gaps.every((gap) => gap > 3))
  for (const gap of gaps) t.match(await status(), `${gap} blocks missing from 0`)
  indexer.start()
  await eventually('no block is missing', async () => !(await status()).includes('missing'))
  for (const [index, network] of NETWORKS.entries())
    await filled(network, gaps[index] ?? 0, '0 entries were missing, 0 different, 0 foreign')
  t.same(await digestReadModel(db), before, 'nothing else has changed')
  t.equal(await indexer.stop(), 0)

  const gap = await forgetRanges(db, 'evm:31337')
  const removed = await removeByHand(db)
  t.match(await runOps(t, setup, 'replay'), { code: 0 })
  indexer.start()
  await filled('evm:31337', gap, `${removed} entries were missing, 0 different, 0 foreign`)
  t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])
  await player.playLoans(2)
  await synced()
  const after = await digestReadModel(db)
  t.match(await runOps(t, setup, 'replay'), { code: 0 })
  t.same(await digestReadModel(db), after, 'a replay agrees')
})
