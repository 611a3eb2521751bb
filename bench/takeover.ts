import { setTimeout as sleep } from 'node:timers/promises'
import { anything, createRpc } from '../devnet/evm/rpc.ts'
import type { IndexerLife } from '../test/kill-points/indexer-life.ts'
import { spreadOf, spreadText, type Spread } from './measure.ts'
import { printFigures, runsAfterWarmUp } from './runs.ts'
import { withServices, type Databases, type QueueKind } from './services.ts'
import { openPair, type Pair, type Who } from './takeover-pair.ts'

export interface TakeoverOptions {
  queue: QueueKind
  /** Measured runs of each kind, in turns, after one warm-up. */
  runs: number
  json: boolean
}

/** Longer than every lease: the writer's lock 15 s, a silent transaction 20 s, the queue's locks and looks 30 s. */
const FROZEN_MS = 65_000
/** Time at work before the leader is disturbed. */
const AT_WORK_MS = 1_500
const BLOCK_EVERY_MS = 100

interface Takeover {
  /** Times from the signal until the standby is the network's writer, and until it has written a block. */
  leadsMs: number
  writesMs: number
  /** Steps that the frozen indexer tried to write after it woke up, all void. */
  voidSteps: number
}

/** Signals sent to the leader. */
const SIGNALS = ['SIGKILL', 'SIGSTOP'] as const
type LeaderSignal = (typeof SIGNALS)[number]

/**
 * Measures how long the standby takes to take over from a killed and from a frozen leader. The frozen one wakes up when
 * the other has led for long, and may write nothing; the database shows which process wrote.
 */
export async function benchTakeover(options: TakeoverOptions): Promise<void> {
  await withServices(options.queue, async ({ postgres, withDatabases }) => {
    const leaders = await withDatabases((databases) => measureTurns(databases, options.runs))
    tell(options, postgres.settings, leaders)
  })
}

async function measureTurns(databases: Databases, runs: number): Promise<Figures[]> {
  const pair = await openPair(databases)
  const mining = new AbortController()
  const mined = mine(pair.rpcUrl, mining.signal)
  try {
    const turns = await runsAfterWarmUp(runs, async () => ({
      SIGKILL: await takeOver(pair, 'SIGKILL'),
      SIGSTOP: await takeOver(pair, 'SIGSTOP'),
    }))
    mining.abort()
    await mined
    await pair.examine()
    return SIGNALS.map((leader) =>
      figuresOf(
        leader,
        turns.map((turn) => turn[leader]),
      ),
    )
  } finally {
    mining.abort()
    await mined
    await pair.stop()
  }
}

interface Figures {
  leader: LeaderSignal
  leadsMs: Spread
  writesMs: Spread
  /** Sum of all runs. */
  voidSteps: number
}

function figuresOf(leader: LeaderSignal, takeovers: readonly Takeover[]): Figures {
  return {
    leader,
    leadsMs: spreadOf(takeovers.map(({ leadsMs }) => leadsMs)),
    writesMs: spreadOf(takeovers.map(({ writesMs }) => writesMs)),
    voidSteps: takeovers.reduce((sum, { voidSteps }) => sum + voidSteps, 0),
  }
}

function tell(
  { queue, runs, json }: TakeoverOptions,
  postgres: Record<string, string>,
  leaders: readonly Figures[],
): void {
  const markdown = `| leader | runs | other leads, ms: median (spread) | other writes, ms: median (spread) | void steps of the woken |
|---|---|---|---|---|
${leaders.map(({ leader, leadsMs, writesMs, voidSteps }) => `| ${leader} | ${runs} | ${spreadText(leadsMs, 0)} | ${spreadText(writesMs, 0)} | ${voidSteps} |`).join('\n')}`
  printFigures(json, { postgres, queue }, { runs, leaders }, markdown)
}

async function takeOver(pair: Pair, kind: LeaderSignal): Promise<Takeover> {
  const leader = await pair.leader()
  const other: Who = leader === 'first' ? 'second' : 'first'
  await pair.untilStandsBy(other)
  await sleep(AT_WORK_MS)
  const life = pair.life(leader)
  const before = await pair.lastWrite()
  const atMs = Date.now()
  life.signal(kind)
  const since = await pair.untilWrites(other, before)
  const voidSteps = kind === 'SIGKILL' ? await bury(pair, leader, life) : await thaw(pair, leader, life, atMs)
  return { leadsMs: since.leadsAtMs - atMs, writesMs: since.writesAtMs - atMs, voidSteps }
}

async function bury(pair: Pair, who: Who, life: IndexerLife): Promise<number> {
  await life.untilEnded(10_000)
  pair.start(who)
  return 0
}

/** It wakes up in the belief that it leads, and must find out before it has written anything. */
async function thaw(pair: Pair, who: Who, life: IndexerLife, frozenAtMs: number): Promise<number> {
  await sleep(frozenAtMs + FROZEN_MS - Date.now())
  const [before, said] = [await pair.writesOf(who), life.output.length]
  life.signal('SIGCONT')
  await pair.untilStandsBy(who, said)
  await sleep(AT_WORK_MS)
  const written = (await pair.writesOf(who)) - before
  if (written > 0) throw new Error(`the one that woke up wrote ${written} times: no figure`)
  return life.output.slice(said).match(/"outcome":"void"/g)?.length ?? 0
}

async function mine(rpcUrl: string, signal: AbortSignal): Promise<void> {
  const rpc = createRpc(rpcUrl)
  while (!signal.aborted) {
    await rpc.call(anything, 'anvil_mine', '0x1')
    await sleep(BLOCK_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
}
