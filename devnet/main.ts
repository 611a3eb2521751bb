import { join } from 'node:path'
import { onStopRequest, runProgram } from '../shared/program.ts'
import { startAnvil, type Anvil } from './evm/anvil.ts'
import { deployContracts, type Deployment } from './evm/deploy.ts'
import { createPlayer } from './evm/player.ts'
import { help, readFlags, type Flags } from './flags.ts'
import { writeNetworksFile } from './networks-file.ts'

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
  say(`devnet stopped (${String(stopping.signal.reason)}), the chain is saved in ${flags.dataDir}`)
})

/** Until the stop request. Throws if the node ends by itself. */
async function runOn(anvil: Anvil, flags: Flags, stop: AbortSignal): Promise<void> {
  const gone = new AbortController()
  const died = anvil.exited.then((how) => {
    gone.abort()
    if (!stop.aborted) throw new Error(`anvil ended by itself (${how})`)
  })
  await Promise.race([died, setUpAndPlay(anvil, flags, AbortSignal.any([stop, gone.signal]))])
}

async function setUpAndPlay(anvil: Anvil, flags: Flags, stop: AbortSignal): Promise<void> {
  const deployment = await deployContracts(anvil.url)
  if (flags.networksFile !== undefined) writeNetworksFile(flags.networksFile, anvil, deployment)
  say(readyLine(anvil, deployment))
  process.send?.('ready')
  const { pace, seed, maxLoans } = flags
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed, pace, maxLoans, onNotice: say })
  await player.play(stop)
}

function readyLine({ url }: Anvil, { erc20Loans, erc20CollateralLock }: Deployment): string {
  return `devnet ready at ${url}: ERC20Loans ${erc20Loans}, ERC20CollateralLock ${erc20CollateralLock}`
}
