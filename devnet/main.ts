import { join } from 'node:path'
import { ConfigError } from '../shared/errors.ts'
import { onStopRequest, runProgram } from '../shared/program.ts'
import { startAnvil, type Anvil } from './evm/anvil.ts'
import { deployContracts, type Deployment } from './evm/deploy.ts'
import { createPlayer } from './evm/player.ts'
import { help, readFlags, type Flags } from './flags.ts'
import { loadEnvironment } from '../shared/config/config.ts'
import { startLotus, type Lotus } from './filecoin/lotus.ts'
import { voucherOutbox, type QueueUrls } from './loans/voucher-outbox.ts'
import { filecoinNetworkId, writeNetworksFile } from './networks-file.ts'

const say = (line: string): void => console.log(line)

await runProgram('devnet', help, async () => {
  const flags = readFlags(process.argv.slice(2))
  const stopping = new AbortController()
  onStopRequest((reason) => stopping.abort(reason))
  const anvil = await startAnvil({
    port: flags.port,
    statePath: join(flags.dataDir, 'anvil.json'),
    blockTimeSeconds: flags.blockTimeSeconds,
    historyBlocks: flags.historyBlocks,
    stateIntervalSeconds: 5,
    onNotice: say,
  })
  try {
    await runOn(anvil, flags, stopping.signal)
  } finally {
    await anvil.stop()
  }
  say(`devnet stopped (${String(stopping.signal.reason)}), the chains are saved in ${flags.dataDir}`)
})

/** Runs until the stop request. Throws if the node ends by itself. */
async function runOn(anvil: Anvil, flags: Flags, stop: AbortSignal): Promise<void> {
  const gone = new AbortController()
  const died = anvil.exited.then((how) => {
    gone.abort()
    if (!stop.aborted) throw new Error(`anvil ended by itself (${how})`)
  })
  const lotus = await startLotus({
    port: flags.filecoinPort,
    statePath: join(flags.dataDir, 'lotus.json'),
    epochDurationS: flags.epochSeconds,
    tickMs: flags.epochSeconds * 1000,
    settleDelayEpochs: flags.settleDelayEpochs,
    certifyEvery: 5,
    onNotice: say,
  })
  try {
    await Promise.race([died, setUpAndPlay(anvil, lotus, flags, AbortSignal.any([stop, gone.signal]))])
  } finally {
    await lotus.stop()
  }
}

async function setUpAndPlay(anvil: Anvil, lotus: Lotus, flags: Flags, stop: AbortSignal): Promise<void> {
  const deployment = await deployContracts(anvil.url)
  if (flags.networksFile !== undefined) writeNetworksFile(flags.networksFile, anvil, deployment, lotus)
  say(readyLine(anvil, lotus, deployment))
  process.send?.('ready')
  const { pace, seed, maxLoans, settleDelayEpochs, epochSeconds: epochDurationS } = flags
  const outbox = voucherOutbox(join(flags.dataDir, 'vouchers.jsonl'), filecoinNetworkId)
  const handIn = (voucher: string): void => outbox.put(voucher)
  const player = createPlayer({
    ...{ rpcUrl: anvil.url, deployment, seed, pace, maxLoans, onNotice: say },
    filecoin: { lotus, settleDelayEpochs, epochDurationS, trafficPerTipset: 0.5, handIn },
    livesFile: join(flags.dataDir, 'lives.json'),
  })
  const forwarding = flags.handIn
    ? outbox.forward(queueUrls(), join(flags.dataDir, 'vouchers.sent'), stop)
    : Promise.resolve()
  await player.play(stop)
  await forwarding
}

function queueUrls(): QueueUrls {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = loadEnvironment()
  if (databaseUrl === undefined) throw new ConfigError('--hand-in needs DATABASE_URL')
  return { databaseUrl, redisUrl }
}

function readyLine(anvil: Anvil, lotus: Lotus, { erc20Loans, erc20CollateralLock }: Deployment): string {
  const contracts = `ERC20Loans ${erc20Loans}, ERC20CollateralLock ${erc20CollateralLock}`
  return `devnet ready at ${anvil.url}: ${contracts}; Filecoin at ${lotus.url}`
}
