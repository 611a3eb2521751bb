import { parseArgs } from 'node:util'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { bringWeather, evmFaults, lotusFaults } from './weather.ts'

const list = (kinds: object): string =>
  Object.keys(kinds)
    .map((kind) => `    ${kind}`)
    .join('\n')

const help = `Usage: npm run faults -- --target <url> [flags]

A node that fails and lies: a proxy (HTTP and WebSocket) before a real one. Point an indexer's rpcUrls and wsUrl at it.

  --target <url>      the true node, for example http://127.0.0.1:8545 or http://127.0.0.1:1234/rpc/v1
  --chain <which>     evm (default) or filecoin: whose faults these are
  --port <n>          where it listens on 127.0.0.1 (0: any free port)
  --fault <kind>      this kind only; may be given several times. Without it: a few kinds at a time, by the seed
  --seed <text>       of all chance (faults)
  --change <s>        seconds between changes of weather (5)
  --help

Kinds, evm:
${list(evmFaults)}
Kinds, filecoin:
${list(lotusFaults)}

Ctrl-C ends it and prints how often each kind happened. Exit codes: 0 stopped, 1 failed, 2 a flag is wrong.`

await runProgram('faults', help, async () => {
  const { target, chain, port, fault, seed, change } = flags()
  const catalogue = chain === 'evm' ? evmFaults : lotusFaults
  const proxy = await startFaultProxy(target, { port })
  const weather = bringWeather(proxy, catalogue, { seed })
  const turn = (): void => (fault.length > 0 ? weather.set(known(fault, weather.kinds)) : weather.change())
  try {
    turn()
    const changing = fault.length > 0 ? undefined : setInterval(turn, change * 1000)
    console.log(`faults before ${target}: ${proxy.url} and ${proxy.wsUrl}, seed ${seed}`)
    await new Promise<string>((stop) => onStopRequest(stop))
    clearInterval(changing)
    console.log(`${proxy.faults} of ${proxy.requests} requests were not answered truly`)
    for (const [kind, times] of weather.counts) console.log(`${String(times).padStart(6)}  ${kind}`)
  } finally {
    await proxy.stop()
  }
})

function flags() {
  const values = parse()
  const { target, chain, fault = [] } = values
  if (target === undefined || !URL.canParse(target))
    throw new ConfigError('--target must be the URL of a node')
  if (chain !== 'evm' && chain !== 'filecoin') throw new ConfigError('--chain must be evm or filecoin')
  const [port, change] = [Number(values.port), Number(values.change)]
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new ConfigError('--port must be a port number')
  if (!(change > 0)) throw new ConfigError('--change must be a number of seconds above 0')
  return { target, chain, fault, port, change, seed: values.seed }
}

function parse() {
  try {
    return parseArgs({
      strict: true,
      options: {
        target: { type: 'string' },
        chain: { type: 'string', default: 'evm' },
        port: { type: 'string', default: '0' },
        fault: { type: 'string', multiple: true },
        seed: { type: 'string', default: 'faults' },
        change: { type: 'string', default: '5' },
      },
    }).values
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}

function known(wanted: string[], kinds: readonly string[]): string[] {
  const missing = wanted.find((kind) => !kinds.includes(kind))
  if (missing !== undefined) throw new ConfigError(`--fault: there is no kind "${missing}" (see --help)`)
  return wanted
}
