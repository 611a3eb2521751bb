import t, { type Test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import { lyingAnswers, refusal, type Fault, type Json } from '../../devnet/faults/fault.ts'
import { createRpc, anything } from '../../devnet/evm/rpc.ts'
import { startProxy } from '../chain/sources/faulty-proxy.ts'
import { startApi } from '../helpers/api-process.ts'
import { testDatabase } from '../helpers/database.ts'
import { freePort } from '../helpers/free-port.ts'
import { healthAnswers } from '../helpers/health-answers.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { playedChain, type PlayedChain } from '../helpers/played-chain.ts'
import { startPrometheus } from '../helpers/prometheus.ts'
import { hasPrometheus } from '../helpers/promtool.ts'
import { provoker } from '../helpers/provoke-alerts.ts'

t.setTimeout(400_000)

const BLOCKS = ['eth_getBlockByNumber', 'eth_getBlockByHash']

/** No block hashes to its hash any more. */
const otherHeaders: Fault = lyingAnswers(BLOCKS, (block) =>
  block === null ? undefined : { ...(block as Json), extraData: '0x1234' },
)
const fails: Fault = () => ({ status: 500, body: 'out of order' })
const isOfAnotherChain: Fault = ([request]) =>
  request?.method === 'eth_chainId'
    ? { body: JSON.stringify({ jsonrpc: '2.0', id: request.id, result: '0x1' }) }
    : { body: refusal(request?.id, -32603, 'no') }

/** Mines blocks without transactions, some seconds apart by the chain's time. */
function mine({ anvil }: PlayedChain, blocks: number): Promise<unknown> {
  return createRpc(anvil.url).call(anything, 'anvil_mine', `0x${blocks.toString(16)}`, '0xc')
}

/** An indexer that reads from these URLs, an API, and a Prometheus that scrapes both. */
async function watched(t: Test, chain: PlayedChain, rpcUrls: string[]) {
  const { url: databaseUrl, db } = await testDatabase(t)
  const network = { ...chain.network, rpcUrls, maxBlockRange: 5 }
  const indexer = await indexerProcess(t, { databaseUrl, networks: { evm: [network] } })
  indexer.start()
  await untilSynced(db, chain.anvil.url, indexer)
  const metricsPort = await freePort()
  const api = startApi(t, {
    ...{ DATABASE_URL: databaseUrl, API_PORT: '0', API_METRICS_PORT: `${metricsPort}` },
  })
  const address = await api.listening
  const prometheus = await startPrometheus(t, {
    'loan-activity': [new URL(indexer.url).host],
    'loan-activity-api': [`127.0.0.1:${metricsPort}`],
  })
  return provoker(t, prometheus, () => healthAnswers(address, indexer.url))
}

void t.test('an endpoint that is unwell fires the alert of its cause, and no other', async (t) => {
  if (!hasPrometheus(t)) return
  const chain = await playedChain(t, 455)
  const [faulty, good] = [await startProxy(t, chain.anvil.url), await startProxy(t, chain.anvil.url)]
  const provoke = await watched(t, chain, [faulty.url, good.url])
  const heal = (): void => {
    faulty.fault = good.fault = () => null
  }

  await provoke({
    ...{ alert: 'LoanActivityEndpointDisagrees', state: 'one of two endpoints lies' },
    begin: () => (faulty.fault = otherHeaders),
    end: heal,
  })
  await provoke({
    ...{ alert: 'LoanActivityEndpointFails', state: 'one of two endpoints is away' },
    begin: () => (faulty.fault = fails),
    end: heal,
  })
  await provoke({
    ...{ alert: 'LoanActivityEndpointPutAside', state: 'one of two endpoints is of another chain' },
    begin: () => (faulty.fault = isOfAnotherChain),
    // Its chain is asked for again only while no other endpoint can be asked.
    end: async () => {
      heal()
      good.fault = fails
      await delay(1_000)
      heal()
    },
  })
})

void t.test('blocks on the word of one endpoint fire their alert', async (t) => {
  if (!hasPrometheus(t)) return
  const chain = await playedChain(t, 455)
  const odd = await startProxy(t, chain.anvil.url, otherHeaders)
  const provoke = await watched(t, chain, [odd.url])
  let mining: NodeJS.Timeout | undefined
  await provoke({
    ...{ alert: 'LoanActivityUnproven', state: 'new blocks stand on the word of one endpoint' },
    begin: () => (mining = setInterval(() => void mine(chain, 1), 500)),
    end: () => clearInterval(mining),
  })
})

void t.test('a network that falls behind fires its alert', async (t) => {
  if (!hasPrometheus(t)) return
  const chain = await playedChain(t, 456)
  const slow = await startProxy(t, chain.anvil.url)
  const provoke = await watched(t, chain, [slow.url])
  await provoke({
    ...{ alert: 'LoanActivityBehind', state: 'more than 10 blocks and 60 s behind, and writing' },
    begin: async () => {
      slow.fault = () => ({ afterMs: 1_000 })
      await mine(chain, 3_000)
    },
    end: () => (slow.fault = () => null),
  })
})
