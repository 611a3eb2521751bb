import { randomBytes } from 'node:crypto'
import { DevChain, type DevChainOptions } from './chain/dev-chain.ts'
import { noJournal, openJournal, type ChainSettings, type Journal } from './chain/journal.ts'
import { Certifier } from './f3/certifier.ts'
import { startClock } from './clock.ts'
import type { Permission } from './rpc/method.ts'
import { startRpcServer } from './rpc/rpc-server.ts'
import { createTraffic } from './traffic.ts'
import { VoucherStore } from './voucher-store.ts'

export type { DevChain } from './chain/dev-chain.ts'
export type { Wallet } from './wallet.ts'

/** Options of a node. A saved chain keeps its original settings: seed, genesis time, name, epoch and settle delay. */
export interface LotusOptions {
  /** A free port when 0 or missing. */
  port?: number
  /** File that stores the chain; the chain is lost when the node stops if missing. */
  statePath?: string
  /** Seconds between heights; 2 when missing. */
  epochDurationS?: number
  /** Unix seconds; now when missing. */
  genesisTimeS?: number
  /** Epochs from settle to collect; 1440 when missing. */
  settleDelayEpochs?: number
  /**
   * Epochs behind the head after which a tipset is final; 30 when missing. Null behaves like a node without F3: 900.
   */
  finalityEpochs?: number | null
  /** Epochs that one certificate of finality covers, at most 100; the node has no certificates if missing. */
  certifyEvery?: number
  /** Fewest and most; 1 to 4 when missing. */
  blocksPerTipset?: readonly [number, number]
  /** Probability of each height; 0 when missing. */
  nullRoundChance?: number
  /** Determines all choices and keys; a new chain each time when missing. */
  seed?: string
  networkName?: string
  /** Milliseconds between automatic epochs; the epoch's duration when missing. Null leaves mining to the caller. */
  tickMs?: number | null
  /** Grants every permission; callers without a token then have only what `anonymous` allows. */
  token?: string
  /** Allows reading, but neither pushing nor seeing the node's vouchers. */
  readToken?: string
  /** Permission of callers without a token. When missing: nothing if there is a token, otherwise everything. */
  anonymous?: Permission | null
  /** Epochs for which the state is kept; 20,000 when missing. */
  stateHistoryEpochs?: number
  /** Average number of messages per tipset that concern no loan, see traffic.ts; none when missing. */
  traffic?: number
  onNotice?: (line: string) => void
}

export interface Lotus {
  /** `http://127.0.0.1:<port>/rpc/v1` */
  url: string
  wsUrl: string
  port: number
  chain: DevChain
  /** The node's own vouchers, which `PaychVoucherList` returns. */
  vouchers: VoucherStore
  /** Null without `certifyEvery`. */
  certifier: Certifier | null
  stop(): Promise<void>
}

const FINALITY_WITHOUT_F3 = 900

/** Starts a node with a chain of its own, behind the JSON-RPC of a real one. */
export async function startLotus(options: LotusOptions = {}): Promise<Lotus> {
  const journal = openOrBegin(options)
  const chain = new DevChain(journal, chainOptions(options))
  const { traffic = 0 } = options
  if (traffic > 0) chain.beforeTipset = createTraffic(chain, traffic)
  const vouchers = new VoucherStore(chain)
  const { token, readToken } = options
  const anonymous =
    options.anonymous === undefined ? (token === undefined ? 'admin' : null) : options.anonymous
  const { certifyEvery } = options
  const certifier = certifyEvery === undefined ? null : new Certifier(chain, certifyEvery)
  const server = await startRpcServer({ chain, vouchers, certifier }, options.port ?? 0, {
    token,
    readToken,
    anonymous,
  })
  const clock = startClock(chain, options.tickMs, options.onNotice)
  const address = `127.0.0.1:${server.port}/rpc/v1`
  return {
    url: `http://${address}`,
    wsUrl: `ws://${address}`,
    port: server.port,
    chain,
    vouchers,
    certifier,
    async stop() {
      clock.stop()
      await server.close()
      chain.close()
    },
  }
}

function openOrBegin({ statePath, ...options }: LotusOptions): Journal {
  const settings: ChainSettings = {
    version: 1,
    seed: options.seed ?? randomBytes(8).toString('hex'),
    networkName: options.networkName ?? 'devnet-2k',
    genesisTimeS: options.genesisTimeS ?? Math.floor(Date.now() / 1000),
    epochDurationS: options.epochDurationS ?? 2,
    settleDelayEpochs: options.settleDelayEpochs ?? 1440,
  }
  return statePath === undefined ? noJournal(settings) : openJournal(statePath, settings)
}

function chainOptions(options: LotusOptions): DevChainOptions {
  const { finalityEpochs = 30 } = options
  return {
    blocksPerTipset: options.blocksPerTipset ?? [1, 4],
    nullRoundChance: options.nullRoundChance ?? 0,
    finalityEpochs: finalityEpochs ?? FINALITY_WITHOUT_F3,
    certifiesFinality: finalityEpochs !== null,
    stateHistoryEpochs: options.stateHistoryEpochs ?? 20_000,
  }
}
