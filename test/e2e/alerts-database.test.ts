import { sql } from 'kysely'
import t from 'tap'
import { connect, type Db } from '../../shared/db/connect.ts'
import { startApi } from '../helpers/api-process.ts'
import { freePort } from '../helpers/free-port.ts'
import { healthAnswers } from '../helpers/health-answers.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { playedChain } from '../helpers/played-chain.ts'
import { postgresPair } from '../helpers/postgres-pair.ts'
import { startPrometheus } from '../helpers/prometheus.ts'
import { hasPrometheus } from '../helpers/promtool.ts'
import { provoker } from '../helpers/provoke-alerts.ts'
import { tcpSwitch } from '../helpers/tcp-switch.ts'

t.setTimeout(400_000)

/** With those of the programs more than four fifths of the server's 97. */
const SESSIONS = 72

void t.test('a database that is unwell fires the alert of its cause, and no other', async (t) => {
  if (!hasPrometheus(t)) return
  const pair = await postgresPair(t)
  const replica = await tcpSwitch(t, pair.standby.port)
  const replicaUrl = new URL(pair.standby.url)
  replicaUrl.port = `${replica.port}`
  const { anvil, player, network } = await playedChain(t, 452)
  const indexer = await indexerProcess(t, { databaseUrl: pair.url, networks: { evm: [network] } })
  indexer.start()
  await player.playLoans(2)
  await untilSynced(pair.primary.admin, anvil.url, indexer)
  await pair.caughtUp()
  const metricsPort = await freePort()
  const api = startApi(t, {
    ...{ DATABASE_URL: pair.url, READ_DATABASE_URL: replicaUrl.href },
    ...{ API_PORT: '0', API_METRICS_PORT: `${metricsPort}` },
  })
  const address = await api.listening
  const prometheus = await startPrometheus(t, {
    'loan-activity': [new URL(indexer.url).host],
    'loan-activity-api': [`127.0.0.1:${metricsPort}`],
  })
  const provoke = provoker(t, prometheus, () => healthAnswers(address, indexer.url))

  await provoke({
    ...{ alert: 'LoanActivityPostgresDown', state: 'Postgres is away' },
    begin: async () => {
      const port = await freePort()
      pair.leadTo({ ...pair.primary, port })
      replica.leadTo(port)
      pair.reset()
      replica.reset()
    },
    end: () => {
      pair.leadTo(pair.primary)
      replica.leadTo(pair.standby.port)
    },
  })
  const sessions: Db[] = []
  await provoke({
    ...{ alert: 'LoanActivityConnections', state: 'Postgres has few sessions left' },
    begin: async () => {
      for (let count = 0; count < SESSIONS; count += 1) {
        const session = connect(pair.primary.url, { name: 'crowd', max: 1 })
        sessions.push(session)
        await sql`select 1`.execute(session)
      }
    },
    end: () => Promise.all(sessions.map((session) => session.destroy())),
  })
  await provoke({
    ...{ alert: 'LoanActivityReplicaLag', state: 'the replica that the API reads is 15 s behind' },
    begin: async () => {
      await pair.stopReplication()
      await player.playLoans(1)
    },
    end: async () => {
      await sql`alter system reset primary_conninfo`.execute(pair.standby.admin)
      await sql`select pg_reload_conf()`.execute(pair.standby.admin)
      await pair.caughtUp()
    },
  })
})
