import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { startApi } from '../helpers/api-process.ts'
import { testDatabase } from '../helpers/database.ts'
import { freePort } from '../helpers/free-port.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { hasPrometheus, promtool } from '../helpers/promtool.ts'

const NETWORK = '{network="evm:31337"}'

void t.test('a running service, and its standby, export what they do', async (t) => {
  if (!hasPrometheus(t)) return
  const { url: databaseUrl, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const { erc20Loans, erc20CollateralLock, ...deployment } = await deployContracts(anvil.url)
  const network = {
    ...{ blockchain: 'DEVNET', networkId: '31337', wsUrl: anvil.wsUrl, pollIntervalMs: 50 },
    rpcUrls: [`${anvil.url}/?key=secret-token`, `${anvil.url}/?key=other-token`],
    erc20Loans: { address: erc20Loans },
    erc20CollateralLock: { address: erc20CollateralLock },
  }
  const setup = { databaseUrl, networks: { evm: [network] } }
  const environment = { QUEUE_PAGE: 'read', QUEUE_PAGE_PASSWORD: 'the-password-of-queues' }
  const [leader, standby] = [
    await indexerProcess(t, { ...setup, environment }),
    await indexerProcess(t, setup),
  ]
  leader.start()
  const player = createPlayer({
    ...{ rpcUrl: anvil.url, seed: 45 },
    deployment: { erc20Loans, erc20CollateralLock, ...deployment },
  })
  await player.playLoans(3)
  await untilSynced(db, anvil.url, leader)
  standby.start()
  await standby.untilSays('standing by')
  const metricsPort = await freePort()
  const api = startApi(t, { DATABASE_URL: databaseUrl, API_PORT: '0', API_METRICS_PORT: `${metricsPort}` })
  const address = await api.listening
  for (const path of ['/api/activity/history', '/api/loan/ERC20/1', '/wp-admin/1', '/wp-admin/2'])
    await (await fetch(address + path)).text()

  const authorization = `Basic ${Buffer.from(`me:${environment.QUEUE_PAGE_PASSWORD}`).toString('base64')}`
  const queues = await fetch(`${leader.url}/queues/api/queues`, { headers: { authorization } })
  t.match(await queues.json(), { queues: [{ name: 'steps-evm-31337', readOnlyMode: true }] })
  const page = await fetch(`${leader.url}/queues/`, { headers: { authorization } })
  t.match(await page.text(), 'Loan activity', 'the page of its queues is in the bundle')
  t.equal((await fetch(`${standby.url}/queues/`, { headers: { authorization } })).status, 404)

  const textOf = async (url: string): Promise<string> => {
    const text = await (await fetch(`${url}/metrics`)).text()
    t.same(await promtool(['check', 'metrics'], text), { code: 0, output: '' })
    t.notMatch(text, /127\.0\.0\.1|token/, 'no URL')
    return text
  }
  const [led, stood, served] = [
    await textOf(leader.url),
    await textOf(standby.url),
    await textOf(`http://127.0.0.1:${metricsPort}`),
  ]
  const { number } = await db.selectFrom('ledger.chain_position').select('number').executeTakeFirstOrThrow()
  for (const [who, text] of Object.entries({ led, stood, served })) {
    const has = (line: string): void => void t.ok(text.includes(`${line}\n`), `${who}: ${line}`)
    has(`loan_activity_indexed_block${NETWORK} ${String(number)}`)
    has(`loan_activity_lag_blocks${NETWORK} 0`)
    has(`loan_activity_lag_seconds${NETWORK} 0`)
    has(`loan_activity_synced${NETWORK} 1`)
    has(`loan_activity_missing_blocks${NETWORK} 0`)
    t.match(text, /^loan_activity_proven_blocks\{network="evm:31337",kind="(receipts|bloom)"\} [1-9]/m, who)
    has('loan_activity_postgres_up 1')
    t.match(text, /^loan_activity_build_info\{program="\w+",version="\d+\.\d+\.\d+",node="v\d+/m, who)
    t.match(text, /^loan_activity_records [1-9]/m, who)
    t.match(text, /^loan_activity_postgres_connections [1-9]/m, who)
    t.match(text, /^process_start_time_seconds [1-9]/m, who)
    t.notMatch(text, /^loan_activity_redis_up/m, 'there is no Redis')
  }
  t.match(led, `loan_activity_writing${NETWORK} 1\n`)
  t.match(stood, `loan_activity_writing${NETWORK} 0\n`)
  for (const stage of ['read', 'queue', 'write']) {
    const count = `loan_activity_stage_duration_seconds_count{network="evm:31337",stage="${stage}"}`
    t.match(led, new RegExp(`^${count.replace('{', '\\{')} [1-9]`, 'm'))
    t.notMatch(stood, count)
  }
  for (const endpoint of ['1', '2']) {
    const at = `\\{network="evm:31337",endpoint="${endpoint}"`
    t.match(led, new RegExp(`^loan_activity_rpc_errors_total${at},reason="fault"\\} 0`, 'm'))
    t.match(led, new RegExp(`^loan_activity_rpc_duration_seconds_count${at}\\} [1-9]`, 'm'))
  }
  t.match(led, /^loan_activity_queue_age_seconds\{/m)
  t.match(led, 'loan_activity_queue_up 1\n')
  const routed = (route: string, status: number): string =>
    `loan_activity_api_request_duration_seconds_count{route="${route}",status="${status}"}`
  t.match(served, `${routed('/api/activity/history', 200)} 1\n`)
  t.match(served, `${routed('/api/loan/ERC20/:loanId', 200)} 1\n`)
  t.match(served, `${routed('unknown', 404)} 2\n`, 'one label for all unknown routes')
  t.match(served, 'loan_activity_api_requests_in_flight 0\n')
  t.equal((await fetch(`${address}/metrics`)).status, 404, 'the public port has none')
})
