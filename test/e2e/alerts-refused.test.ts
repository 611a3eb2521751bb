import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startLotus } from '../../devnet/filecoin/lotus.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { addVoucher, openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { startApi, type ApiProcess } from '../helpers/api-process.ts'
import { testDatabase } from '../helpers/database.ts'
import { forgetRanges } from '../helpers/forget-ranges.ts'
import { freePort } from '../helpers/free-port.ts'
import { healthAnswers } from '../helpers/health-answers.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { leaveTheClock, playedChain } from '../helpers/played-chain.ts'
import { eventually } from '../helpers/programs.ts'
import { startPrometheus } from '../helpers/prometheus.ts'
import { hasPrometheus } from '../helpers/promtool.ts'
import { provoker } from '../helpers/provoke-alerts.ts'
import { signedText } from '../helpers/signed-vouchers.ts'
import { tcpSwitch } from '../helpers/tcp-switch.ts'
import { untilBothSynced } from '../helpers/until-both-synced.ts'
import { SECRET, webhookReceiver } from '../helpers/webhook-receiver.ts'

t.setTimeout(500_000)

void t.test('what is refused, lost or not taken fires its alert, and no other', async (t) => {
  if (!hasPrometheus(t)) return
  const { url: databaseUrl, db } = await testDatabase(t)
  const { anvil, player, network } = await playedChain(t, 454)
  await leaveTheClock(anvil)
  const lotus = await startLotus({ tickMs: null, seed: 'alerts', finalityEpochs: 10 })
  t.teardown(() => lotus.stop())
  await lotus.chain.mine(20)
  const networks = {
    evm: [network],
    filecoin: [{ networkId: 'testnet', rpcUrls: [lotus.url], pollIntervalMs: 50 }],
  }
  const indexer = await indexerProcess(t, { databaseUrl, networks })
  indexer.start()
  await player.playLoans(2)
  await untilBothSynced(db, { evmUrl: anvil.url, lotusUrl: lotus.url }, indexer)

  const [apiMetrics, hooksMetrics] = [await freePort(), await freePort()]
  const [intakePort, intakeMetrics] = [await freePort(), await freePort()]
  const api = startApi(t, {
    ...{ DATABASE_URL: databaseUrl, API_PORT: '0', API_METRICS_PORT: `${apiMetrics}`, API_RATE_LIMIT: 'off' },
  })
  const address = await api.listening
  const [folder, status] = [t.testdir({}), { gone: 200, late: 200 }]
  const receivers = {
    gone: await webhookReceiver(t, () => status.gone),
    late: await webhookReceiver(t, () => status.late),
  }
  const [hooksFile, networksFile] = [join(folder, 'webhooks.json'), join(folder, 'networks.json')]
  const webhooks = Object.entries(receivers).map(([name, { url }]) => ({ name, url, secret: SECRET }))
  await writeFile(hooksFile, JSON.stringify({ webhooks }))
  await writeFile(networksFile, JSON.stringify(networks))
  const startWebhooks = (): ApiProcess =>
    startApi(
      t,
      { DATABASE_URL: databaseUrl, WEBHOOKS_FILE: hooksFile, WEBHOOKS_PORT: `${hooksMetrics}` },
      { program: 'indexer/webhooks/main' },
    )
  let hooks = startWebhooks()
  const answers = (port: number): Promise<void> =>
    eventually('it answers', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
      return answer?.status === 200
    })
  await answers(hooksMetrics)
  const database = await tcpSwitch(t, Number(new URL(databaseUrl).port))
  const intakeUrl = new URL(databaseUrl)
  intakeUrl.host = `127.0.0.1:${database.port}`
  const startIntake = (): ApiProcess =>
    startApi(
      t,
      {
        ...{ DATABASE_URL: intakeUrl.href, NETWORKS_FILE: networksFile },
        ...{ INTAKE_PORT: `${intakePort}`, INTAKE_METRICS_PORT: `${intakeMetrics}` },
      },
      { program: 'indexer/intake/main' },
    )
  let intake = startIntake()
  await answers(intakeMetrics)
  const prometheus = await startPrometheus(t, {
    'loan-activity': [new URL(indexer.url).host],
    'loan-activity-api': [`127.0.0.1:${apiMetrics}`],
    'loan-activity-webhooks': [`127.0.0.1:${hooksMetrics}`],
    'loan-activity-intake': [`127.0.0.1:${intakeMetrics}`],
  })
  const provoke = provoker(t, prometheus, () => healthAnswers(address, indexer.url))

  await provoke({
    alert: 'LoanActivityWebhookLate',
    begin: async () => {
      status.late = 500
      await player.playLoans(1)
    },
    end: () => (status.late = 200),
  })
  t.same(await prometheus.until([]), [])
  status.gone = 410
  await player.playLoans(1)
  t.same(
    await prometheus.until(['LoanActivityWebhookDisabled']),
    [],
    'LoanActivityWebhookDisabled fires alone',
  )
  status.gone = 200
  hooks.child.kill('SIGKILL')
  const others = await prometheus.until(['LoanActivityNoWebhooks'])
  t.same(
    others.filter((name) => name !== 'LoanActivityWebhookDisabled'),
    [],
    'LoanActivityNoWebhooks fires alone',
  )
  hooks = startWebhooks()
  await answers(hooksMetrics)
  await prometheus.until([])

  await provoke({
    alert: 'LoanActivityIntakeRefuses',
    begin: async () => {
      database.leadTo(await freePort())
      database.reset()
      const refused = await fetch(`http://127.0.0.1:${intakePort}/vouchers`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
        body: JSON.stringify({ voucher: signedText() }),
      })
      t.equal(refused.status, 503)
    },
    end: () => database.leadTo(Number(new URL(databaseUrl).port)),
  })
  await provoke({
    alert: 'LoanActivityNoIntake',
    begin: () => intake.child.kill('SIGKILL'),
    end: async () => {
      intake = startIntake()
      await answers(intakeMetrics)
    },
  })
  const backend = openQueueBackend({ databaseUrl, redisUrl: undefined }, (error) => t.comment(error.message))
  await provoke({
    ...{ alert: 'LoanActivityDeadLetters', state: 'vouchers are refused' },
    begin: async () => {
      const queue = openVoucherQueue(backend)
      for (let count = 0; count < 20; count += 1)
        await addVoucher(queue, { voucher: `garbage ${count}` }, `garbage-${count}`)
      await queue.close()
    },
    end: () => backend.close(),
  })

  let unlock = (): void => undefined
  let locking: Promise<void> = Promise.resolve()
  const lock = async (table: string): Promise<void> => {
    const released = new Promise<void>((resolve) => (unlock = resolve))
    await new Promise<void>((locked) => {
      locking = db.transaction().execute(async (trx) => {
        await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(trx)
        locked()
        await released
      })
    })
  }
  await provoke({
    alert: 'LoanActivityApiSheds',
    begin: async () => {
      await lock('projection.activity')
      const asked = Array.from({ length: 200 }, async (_, number) => {
        const answer = await fetch(`${address}/api/activity?limit=${1 + number}`)
        await answer.text()
        return answer.status
      })
      await eventually('requests are refused', async () => {
        const text = await (await fetch(`http://127.0.0.1:${apiMetrics}/metrics`)).text()
        return /^loan_activity_api_shed_total [1-9]/m.test(text)
      })
      unlock()
      await locking
      await Promise.all(asked)
    },
    end: () => undefined,
  })
  await provoke({
    alert: 'LoanActivityApiErrors',
    begin: async () => {
      await sql`alter table projection.daily rename to daily_away`.execute(db)
      t.equal((await fetch(`${address}/api/stats/daily`)).status, 500)
    },
    end: () => sql`alter table projection.daily_away rename to daily`.execute(db),
  })
  await provoke({
    ...{ alert: 'LoanActivityMissingBlocks', state: 'blocks are missing' },
    // The indexer fills the gap by itself, once it may write.
    begin: async () => {
      const released = new Promise<void>((resolve) => (unlock = resolve))
      await new Promise<void>((locked) => {
        locking = db.transaction().execute(async (trx) => {
          await sql`select 1 from ledger.chain_position for update`.execute(trx)
          locked()
          await released
        })
      })
      await forgetRanges(db, 'evm:31337')
    },
    end: async () => {
      unlock()
      await locking
    },
  })
  await provoke({
    ...{ alert: 'LoanActivityFailedSteps', state: 'a step cannot be written' },
    begin: async () => {
      await sql`create function ledger.refuse() returns trigger language plpgsql as
        'begin raise exception ''refused by a test''; end'`.execute(db)
      await sql`create trigger refuse before insert on ledger.event_log execute function ledger.refuse()`.execute(
        db,
      )
      await player.playLoans(1)
    },
    end: async () => {
      await sql`drop trigger refuse on ledger.event_log`.execute(db)
    },
  })
})
