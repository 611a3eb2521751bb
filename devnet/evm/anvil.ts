import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { anvilBinary } from './anvil-binary.ts'
import { claimPort } from './claim-port.ts'
import { clearOwnership, stopLeftover, writeOwnership } from './leftover.ts'
import { anything, createRpc, quantity, type Rpc } from './rpc.ts'
import { stateFile, type StateFile } from './state-file.ts'

export const chainId = 31337

export interface AnvilOptions {
  /** 0 or missing: a free port. */
  port?: number
  /** A JSON file that keeps the chain over restarts; others appear beside it. Missing: the chain is not kept. */
  statePath?: string
  /** Missing: anvil mines a block for every transaction (automine). */
  blockTimeSeconds?: number
  /**
   * Number of newest blocks whose state can be read (`eth_call` at a block). Anvil keeps a whole copy of the state for
   * each. A copy takes about 1 kB in memory and 3 kB in the state file per loan and block. Blocks, receipts and logs
   * are always kept from the first block on.
   */
  historyBlocks?: number
  /** Seconds that SIGKILL loses at most; more when a large state takes longer to write. */
  stateIntervalSeconds?: number
  /** `safe` lies this many blocks behind the head, `finalized` twice as many. */
  slotsInAnEpoch?: number
  /** Unix seconds of block 0 of a chain that is not kept. Missing: now. */
  genesisTimeS?: number
  /** Receives notices for the user: an unusable state file, a leftover process that was stopped. */
  onNotice?: (line: string) => void
}

export interface Anvil {
  url: string
  wsUrl: string
  port: number
  pid: number
  /** Resolves with the reason once the node has ended, by stop or by itself. */
  exited: Promise<string>
  /** Writes the state, ends the process and waits for its end. A second call does no harm. */
  stop(): Promise<void>
}

type Settings = Required<Omit<AnvilOptions, 'statePath' | 'blockTimeSeconds'>> & {
  blockTimeSeconds: number | undefined
  state: StateFile | undefined
  /** Unix seconds of block 0. */
  genesisTimeS: number
}

/**
 * Starts a node. Throws EADDRINUSE if the port is taken, or an Error with anvil's message if it does not start. The
 * node always ends with this process.
 */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const pidFile = options.statePath === undefined ? undefined : `${options.statePath}.pid`
  const settings: Settings = {
    port: options.port ?? 0,
    historyBlocks: options.historyBlocks ?? 1000,
    stateIntervalSeconds: options.stateIntervalSeconds ?? 3,
    slotsInAnEpoch: options.slotsInAnEpoch ?? 32,
    onNotice: options.onNotice ?? (() => undefined),
    blockTimeSeconds: options.blockTimeSeconds,
    state: options.statePath === undefined ? undefined : stateFile(options.statePath),
    genesisTimeS: genesisTime(options),
  }
  if (pidFile !== undefined && (await stopLeftover(pidFile)))
    settings.onNotice('stopped an anvil that was left over from an earlier run')
  settings.port = await claimPort(settings.port)
  const child = await launchFromBest(settings)
  const { pid } = child
  if (pid === undefined) throw new Error('anvil has no process id')
  if (pidFile !== undefined) writeOwnership(pidFile, pid)
  const url = `http://127.0.0.1:${settings.port}`
  await beginMining(createRpc(url), settings.blockTimeSeconds)
  return supervise(child, pid, settings, pidFile)
}

/** Tries the state files from the best down. The chain starts anew when anvil accepts none. */
async function launchFromBest(settings: Settings): Promise<ChildProcess> {
  for (const candidate of settings.state?.candidates() ?? []) {
    try {
      return await launch(settings, candidate)
    } catch (error) {
      const aside = settings.state?.reject(candidate) ?? candidate
      settings.onNotice(`the saved chain is unusable and was put aside as ${aside}: ${String(error)}`)
    }
  }
  if (settings.state?.hasRemains() === true) settings.onNotice('no usable saved chain: starting a new one')
  return launch(settings, undefined)
}

async function launch(settings: Settings, loadFrom: string | undefined): Promise<ChildProcess> {
  const child = spawn(anvilBinary(), anvilArguments(settings, loadFrom), {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Ctrl-C does not reach a node in its own group, but the program that started it, which then ends it.
    detached: true,
  })
  let complaint = ''
  child.stderr.on('data', (text: Buffer) => {
    complaint = `${complaint}${text.toString()}`.slice(-2000)
  })
  const ended = once(child, 'exit').then(
    () => `anvil did not start: ${complaint.trim().replaceAll('\n', ' ')}`,
    (error: unknown) => `anvil cannot be run: ${String(error)}`,
  )
  const up = waitUntilUp(createRpc(`http://127.0.0.1:${settings.port}`, 5000), child)
  const failure = await Promise.race([ended, up])
  if (failure !== undefined) throw new Error(failure)
  watchOver(child)
  return child
}

function anvilArguments(settings: Settings, loadFrom: string | undefined): string[] {
  const { state } = settings
  const persistence =
    state === undefined
      ? []
      : [
          ...(loadFrom === undefined ? [] : ['--load-state', loadFrom]),
          ...['--dump-state', state.path, '--preserve-historical-states'],
          ...['--state-interval', String(stateInterval(settings.stateIntervalSeconds, loadFrom))],
        ]
  return [
    ...['--quiet', '--host', '127.0.0.1', '--port', String(settings.port), '--chain-id', String(chainId)],
    // Later forks write into system contracts at every block, so the state would grow on an idle chain.
    ...['--hardfork', 'shanghai', '--order', 'fifo', '--balance', '1000000'],
    ...['--gas-limit', '100000000000', '--no-request-size-limit'],
    ...['--prune-history', String(settings.historyBlocks)],
    ...['--slots-in-an-epoch', String(settings.slotsInAnEpoch)],
    // Anvil makes a block 0 at every start and keeps those of all starts, so all must be the same block.
    ...['--timestamp', String(settings.genesisTimeS)],
    // Mining begins once the clock is set.
    ...['--no-mining', ...persistence],
  ]
}

/** Writing takes about a second per 150 MB and should use at most a tenth of the time. */
function stateInterval(wanted: number, loadFrom: string | undefined): number {
  const megabytes = loadFrom === undefined ? 0 : statSync(loadFrom).size / 1e6
  return Math.max(wanted, Math.ceil(megabytes / 15))
}

async function waitUntilUp(rpc: Rpc, child: ChildProcess): Promise<undefined> {
  // Loading a large state takes seconds; the condition ends the wait when the node dies meanwhile.
  while (child.exitCode === null && child.signalCode === null) {
    try {
      if ((await rpc.call(quantity, 'eth_chainId')) === chainId) return undefined
    } catch {
      // Not ready yet.
    }
    await sleep(20)
  }
  return new Promise(() => undefined)
}

/** Time of this chain's first start; for a chain that is not kept, the requested time or now. */
function genesisTime({ statePath, genesisTimeS }: AnvilOptions): number {
  const nowS = genesisTimeS ?? Math.floor(Date.now() / 1000)
  if (statePath === undefined) return nowS
  const file = `${statePath}.genesis`
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, String(nowS))
  }
  return z.coerce.number().int().parse(readFileSync(file, 'utf8'))
}

/**
 * A restarted anvil continues from the time of its block 0. Its time must become the real time, or the last block's
 * time where the chain's clock was moved ahead.
 */
async function beginMining(rpc: Rpc, blockTimeSeconds: number | undefined): Promise<void> {
  const latest = z.object({ timestamp: quantity })
  const { timestamp } = await rpc.call(latest, 'eth_getBlockByNumber', 'latest', false)
  await rpc.call(anything, 'evm_setTime', Math.max(timestamp + 1, Math.floor(Date.now() / 1000)))
  if (blockTimeSeconds === undefined) await rpc.call(anything, 'evm_setAutomine', true)
  else await rpc.call(anything, 'evm_setIntervalMining', blockTimeSeconds)
}

/** Starts a shell that waits for the end of our pipe and then ends the node. The pipe ends even when we are killed. */
function watchOver(child: ChildProcess): void {
  const watch = spawn('/bin/sh', ['-c', 'read -r _; kill "$0" 2>/dev/null', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watch.on('error', () => undefined)
  child.once('exit', () => watch.kill('SIGKILL'))
  watch.unref()
}

function supervise(child: ChildProcess, pid: number, settings: Settings, pidFile: string | undefined): Anvil {
  const keeper = setInterval(() => settings.state?.keepFinished(), 500)
  keeper.unref()
  const gone = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve()
  const exited = gone.then(() => {
    clearInterval(keeper)
    if (pidFile !== undefined) clearOwnership(pidFile)
    return child.signalCode === null
      ? `exit code ${child.exitCode ?? 'unknown'}`
      : `signal ${child.signalCode}`
  })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    const patience = setTimeout(() => child.kill('SIGKILL'), 30_000)
    await exited
    clearTimeout(patience)
  }
  const address = `127.0.0.1:${settings.port}`
  return { url: `http://${address}`, wsUrl: `ws://${address}`, port: settings.port, pid, exited, stop }
}
