import { writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { anything, createRpc, quantity } from '../../devnet/evm/rpc.ts'
import type { Fault } from '../../devnet/faults/fault.ts'
import { startFaultProxy } from '../../devnet/faults/fault-proxy.ts'
import {
  ENDLESS_RESPONSES,
  HOSTILE_BODIES,
  hostileBody,
  onlyFor,
} from '../../devnet/faults/hostile-bodies.ts'
import { startLotus } from '../../devnet/filecoin/lotus.ts'
import { testApi } from '../helpers/api.ts'
import { HOSTILE_SOCKETS, hostileSockets } from '../helpers/hostile-sockets.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { memoryOf } from '../helpers/process-memory.ts'
import { eventually } from '../helpers/programs.ts'
import { scriptFlags } from '../helpers/script-flags.ts'

/**
 * Production's indexer with one honest network and two whose nodes answer with what exhausts a reader. One process takes
 * all of it: it lives, stays small, and the honest network does not fall behind.
 */

t.setTimeout(600_000)

const MOST_RESIDENT_MIB = 400
const MOST_LAG_MS = 8_000
const FOR_MS = 1_000
/** A lone endpoint that failed often is left alone for 5 seconds. */
const LONGEST_ASIDE_MS = 8_000
const MINE_EVERY_MS = 250

/** Methods whose honest answers are large. */
const LARGE = [
  'eth_getLogs',
  'eth_call',
  'Filecoin.ChainGetParentMessages',
  'Filecoin.ChainGetParentReceipts',
]

/** Asked before all else: some attacks begin behind it. */
const IDENTITY = ['Filecoin.StateNetworkName']
const PACKED = ['60 MB of [', '160,000 logs']

function httpAttacks(): [string, Fault][] {
  return [
    ...Object.keys(HOSTILE_BODIES).map((name): [string, Fault] => [name, hostileBody(name, false)]),
    ...PACKED.map((name): [string, Fault] => [`${name}, gzip`, hostileBody(name, true)]),
    ...Object.entries(ENDLESS_RESPONSES),
    ...['8 MB of {}', '160,000 logs', '8 MB of distinct names'].map((name): [string, Fault] => [
      `${name}, where answers are large`,
      onlyFor(LARGE, hostileBody(name, false)),
    ]),
  ]
}

void t.test('no answer of a node ends the process or holds up another network', async (t) => {
  const { db, url: databaseUrl } = await testApi(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const lotus = await startLotus({ tickMs: 200, epochDurationS: 1 })
  t.teardown(() => lotus.stop())
  let attack: Fault | null = null
  let attacksAll = true
  const asOtherChain: Fault = async (requests, ...rest) => {
    const [first] = requests
    const asksChain = first?.method === 'eth_chainId'
    const said = asksChain && !attacksAll ? null : ((await attack?.(requests, ...rest)) ?? null)
    return said === null && asksChain ? [{ id: first.id, result: '0x7a6a' }] : said
  }
  const evmProxy = await startFaultProxy(anvil.url, { fault: asOtherChain })
  t.teardown(() => evmProxy.stop())
  const lotusProxy = await startFaultProxy(lotus.url, {
    fault: (requests, ...rest) => {
      const isIdentity = requests.some(({ method }) => IDENTITY.includes(method))
      return isIdentity && !attacksAll ? null : (attack?.(requests, ...rest) ?? null)
    },
  })
  t.teardown(() => lotusProxy.stop())
  const sockets = await hostileSockets(t)
  const deployed = (networkId: string) => ({
    ...{ blockchain: 'DEVNET', networkId, pollIntervalMs: 50 },
    erc20Loans: { address: deployment.erc20Loans, idPrefix: `N${networkId}` },
    erc20CollateralLock: { address: deployment.erc20CollateralLock, idPrefix: `N${networkId}` },
  })
  const networks = {
    evm: [
      { ...deployed('31337'), rpcUrls: [anvil.url] },
      { ...deployed('31338'), rpcUrls: [evmProxy.url], wsUrl: sockets.url },
    ],
    filecoin: [{ networkId: 'testnet', rpcUrls: [lotusProxy.url], pollIntervalMs: 50 }],
  }
  const indexer = await indexerProcess(t, { databaseUrl, networks, flags: scriptFlags('indexer') })
  const rpc = createRpc(anvil.url)
  const indexed = async (network: string): Promise<number> => {
    const row = await db
      .selectFrom('ledger.chain_position')
      .select('number')
      .where('network', '=', network)
      .executeTakeFirst()
    return row?.number ?? -1
  }
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 1 })
  await player.playLoans(2)
  attack = hostileBody('8 MB of {}', false)
  indexer.start()
  await eventually(
    'the honest network is indexed although the others attack from the start',
    async () => {
      return (await indexed('evm:31337')) >= (await rpc.call(quantity, 'eth_blockNumber'))
    },
    60_000,
  )

  /** Mines, and measures the longest time until a block is indexed, and the most that is resident. */
  async function endure(what: string): Promise<void> {
    writeFileSync(`/proc/${indexer.pid}/clear_refs`, '5')
    const before = { evm: evmProxy.faults, lotus: lotusProxy.faults }
    const untilMs = performance.now() + FOR_MS
    const lastMs = untilMs + LONGEST_ASIDE_MS
    let worstMs = 0
    const isAttacked = (): boolean =>
      attack === null || (evmProxy.faults > before.evm && lotusProxy.faults > before.lotus)
    while (
      indexer.isRunning &&
      (performance.now() < untilMs || (!isAttacked() && performance.now() < lastMs))
    ) {
      await rpc.call(anything, 'evm_mine')
      const minedMs = performance.now()
      const head = await rpc.call(quantity, 'eth_blockNumber')
      while ((await indexed('evm:31337')) < head) {
        worstMs = Math.max(worstMs, performance.now() - minedMs)
        if (worstMs > 2 * MOST_LAG_MS) break
        await delay(20)
      }
      await delay(MINE_EVERY_MS)
    }
    const { peakMiB } = memoryOf(indexer.pid)
    const told = `${evmProxy.faults - before.evm} and ${lotusProxy.faults - before.lotus} answers`
    t.comment(`${what}: ${Math.round(worstMs)} ms behind at most, ${peakMiB} MiB, ${told}`)
    t.ok(indexer.isRunning, `${what}: the process lives`)
    t.ok(worstMs < MOST_LAG_MS, `${what}: ${Math.round(worstMs)} ms behind`)
    t.ok(peakMiB < MOST_RESIDENT_MIB, `${what}: ${peakMiB} MiB`)
    if (!indexer.isRunning) {
      t.comment(indexer.output.slice(-500))
      indexer.start()
      await eventually('it is there again', async () => (await indexed('evm:31337')) >= 0, 60_000)
    }
  }

  async function endureAll(attacks: readonly [string, Fault][]): Promise<void> {
    for (const [name, fault] of attacks) {
      attack = fault
      await endure(attacksAll ? `${name}, from the first question` : name)
      evmProxy.release()
      lotusProxy.release()
    }
  }

  /** A lone endpoint is left alone for 5 seconds at most. */
  async function readAgain(): Promise<void> {
    attack = null
    const honestMs = performance.now()
    const before = await indexed('filecoin:testnet')
    await rpc.call(anything, 'evm_mine')
    await eventually(
      'the attacked networks are read once their nodes are honest',
      async () => {
        const behind = (await rpc.call(quantity, 'eth_blockNumber')) - (await indexed('evm:31338'))
        return behind <= 0 && (await indexed('filecoin:testnet')) > before
      },
      60_000,
    )
    t.comment(`read ${Math.round(performance.now() - honestMs)} ms after the nodes were honest`)
  }

  const attacks = httpAttacks()
  await endureAll(attacks.filter((_, index) => index % 2 === 0))
  await readAgain()
  attacksAll = false
  await endureAll(attacks.filter((_, index) => index % 2 === 1))
  attacksAll = true
  await endureAll([['0x1', (requests) => requests.map(({ id }) => ({ id, result: '0x1' }))]])
  await readAgain()
  t.ok(sockets.connections > 0, 'the WebSocket was connected')
  for (const name of Object.keys(HOSTILE_SOCKETS)) {
    sockets.attack = name
    // A flood is answered with a minute of polling: a new process connects at once.
    t.equal(await indexer.stop(), 0, 'it stops when it is told to')
    const { connections } = sockets
    indexer.start()
    await eventually('it is subscribed', () => sockets.connections > connections, 30_000)
    await endure(`WebSocket: ${name}`)
  }
  t.equal(await indexer.stop(), 0, 'it stops when it is told to')
})
