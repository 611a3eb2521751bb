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
  /** 0 or missing: a free one. */
  port?: number
  /** Where the chain survives a restart (a JSON file; others appear beside it). Missing: it does not. */
  statePath?: string
  /** Missing: a block for every transaction (automine). */
  blockTimeSeconds?: number
  /**
   * For how many of the newest blocks state can be read (`eth_call` at a block). Anvil keeps a whole copy of the
   * state for each, in memory and in its state file: about 1 kB (memory) to 3 kB (file) per loan and block.
   * Blocks, receipts and logs are kept from the first block on, whatever this says.
   */
  historyBlocks?: number
  /** At most so many seconds are lost by SIGKILL (longer when the state is so big that writing it is slow). */
  stateIntervalSeconds?: number
  /** Seen from the head, `safe` is so many blocks behind and `finalized` twice as many. */
  slotsInAnEpoch?: number
  /** Unix seconds of block 0 of a chain that is not kept. Missing: now. */
  genesisTimeS?: number
  /** Told what a person should know: state that could not be used, a leftover process that was stopped. */
  onNotice?: (line: string) => void
}

export interface Anvil {
  url: string
  wsUrl: string
  port: number
  pid: number
  /** How it ended, once it has: by stop, or by itself. */
  exited: Promise<string>
  /** Writes the state, ends the process and waits for that. Calling it twice does no harm. */
  stop(): Promise<void>
}

type Settings = Required<Omit<AnvilOptions, 'statePath' | 'blockTimeSeconds'>> & {
  blockTimeSeconds: number | undefined
  state: StateFile | undefined
  /** Unix seconds of block 0. */
  genesisTimeS: number
}

/**
 * Starts a node. Throws EADDRINUSE if the port is taken, or an Error with anvil's own words if it does not start.
 * The node ends with this process, however that ends.
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

/** Tries the state files from the best down; without any that anvil takes, the chain starts anew. */
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
    // A group of its own: Ctrl-C reaches the program that started it, which ends it in its turn.
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
    // Later forks write into system contracts at every block: state would grow on an idle chain.
    ...['--hardfork', 'shanghai', '--order', 'fifo', '--balance', '1000000'],
    ...['--gas-limit', '100000000000', '--no-request-size-limit'],
    ...['--prune-history', String(settings.historyBlocks)],
    ...['--slots-in-an-epoch', String(settings.slotsInAnEpoch)],
    // Anvil makes a block 0 at every start and keeps those of all starts: they must be one and the same block.
    ...['--timestamp', String(settings.genesisTimeS)],
    // Mining begins once the clock is set right.
    ...['--no-mining', ...persistence],
  ]
}

/** Writing takes about a second per 150 MB: not more than a tenth of the time should go into it. */
function stateInterval(wanted: number, loadFrom: string | undefined): number {
  const megabytes = loadFrom === undefined ? 0 : statSync(loadFrom).size / 1e6
  return Math.max(wanted, Math.ceil(megabytes / 15))
}

async function waitUntilUp(rpc: Rpc, child: ChildProcess): Promise<undefined> {
  // Loading a large state takes seconds; a node that dies meanwhile ends the wait from the other side.
  while (child.exitCode === null && child.signalCode === null) {
    try {
      if ((await rpc.call(quantity, 'eth_chainId')) === chainId) return undefined
    } catch {
      // Not yet.
    }
    await sleep(20)
  }
  return new Promise(() => undefined)
}

/** The time of this chain's first start; that of a chain that is not kept is now, or what was asked for. */
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
 * A restarted anvil goes on from the time of its block 0. It must be the clock's time, or the last block's where
 * the chain's time was moved beyond it.
 */
async function beginMining(rpc: Rpc, blockTimeSeconds: number | undefined): Promise<void> {
  const latest = z.object({ timestamp: quantity })
  const { timestamp } = await rpc.call(latest, 'eth_getBlockByNumber', 'latest', false)
  await rpc.call(anything, 'evm_setTime', Math.max(timestamp + 1, Math.floor(Date.now() / 1000)))
  if (blockTimeSeconds === undefined) await rpc.call(anything, 'evm_setAutomine', true)
  else await rpc.call(anything, 'evm_setIntervalMining', blockTimeSeconds)
}

/** A shell that waits for the end of our pipe, which comes even if we are killed, and then ends the node. */
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
