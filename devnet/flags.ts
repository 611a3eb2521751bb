import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, messageOf } from '../shared/errors.ts'

export const help = `Usage: npm run devnet -- [flags]

A local EVM chain (anvil, chain id 31337) with both loan markets, and a stand-in for a Filecoin node (Lotus JSON-RPC)
with payment channels: a player lives whole loans across both.

  --port <n>             where the node listens on 127.0.0.1 (8545; 0: any free port)
  --filecoin-port <n>    where the Filecoin node listens on 127.0.0.1 (1234; 0: any free port)
  --data-dir <path>      where the chains are kept between runs (.data/devnet); delete it to begin anew
  --block-time <s>       seconds between blocks (1)
  --epoch <s>            seconds between tipsets (2)
  --settle-delay <n>     epochs from a channel's Settle to its Collect (5; on the real networks 1440)
  --pace <n>             transactions per second (2 for two minutes, then 0.25)
  --seed <text>          of the player's choices (devnet)
  --max-loans <n>        no new loans once the chain has so many (300)
  --history <n>          of so many newest blocks the state can be read (200)
  --networks-file <path> write the NETWORKS_FILE for these chains there, once the contracts can be called
  --hand-in              hand vouchers in through the service's voucher queue (DATABASE_URL, REDIS_URL); those that
                         are to be handed in are in <data-dir>/vouchers.jsonl in any case
  --help

Ctrl-C stops the player and saves the chains. Exit codes: 0 stopped, 1 failed, 2 a flag is wrong.`

export interface Flags {
  port: number
  dataDir: string
  filecoinPort: number
  blockTimeSeconds: number
  epochSeconds: number
  settleDelayEpochs: number
  handIn: boolean
  /** Transactions per second, as a function of the seconds since the start. */
  pace: number | ((seconds: number) => number)
  seed: string
  maxLoans: number
  historyBlocks: number
  networksFile: string | undefined
}

const options = {
  port: { type: 'string', default: '8545' },
  'filecoin-port': { type: 'string', default: '1234' },
  epoch: { type: 'string', default: '2' },
  'settle-delay': { type: 'string', default: '5' },
  'hand-in': { type: 'boolean', default: false },
  'data-dir': { type: 'string', default: join('.data', 'devnet') },
  'block-time': { type: 'string', default: '1' },
  pace: { type: 'string' },
  seed: { type: 'string', default: 'devnet' },
  'max-loans': { type: 'string', default: '300' },
  history: { type: 'string', default: '200' },
  'networks-file': { type: 'string' },
} as const

/** Every kind of event comes in the lively beginning; later the chain's state should grow more slowly. */
const usualPace = (seconds: number): number => (seconds < 120 ? 2 : 0.25)

/** Throws a ConfigError that names the flag. */
export function readFlags(args: string[]): Flags {
  const values = parse(args)
  return {
    port: wholeNumber('--port', values.port, 0, 65_535),
    filecoinPort: wholeNumber('--filecoin-port', values['filecoin-port'], 0, 65_535),
    epochSeconds: wholeNumber('--epoch', values.epoch, 1, 3600),
    settleDelayEpochs: wholeNumber('--settle-delay', values['settle-delay'], 1, 100_000),
    handIn: values['hand-in'],
    dataDir: values['data-dir'],
    blockTimeSeconds: wholeNumber('--block-time', values['block-time'], 1, 3600),
    pace: values.pace === undefined ? usualPace : rate('--pace', values.pace),
    seed: values.seed,
    maxLoans: wholeNumber('--max-loans', values['max-loans'], 0, 1_000_000),
    historyBlocks: wholeNumber('--history', values.history, 16, 100_000),
    networksFile: values['networks-file'],
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options, strict: true }).values
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}

function wholeNumber(flag: string, text: string, from: number, to: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < from || value > to)
    throw new ConfigError(`${flag} must be a whole number from ${from} to ${to}, not "${text}"`)
  return value
}

function rate(flag: string, text: string): number {
  const value = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || value <= 0 || value > 100)
    throw new ConfigError(`${flag} must be a number above 0 and up to 100, not "${text}"`)
  return value
}
