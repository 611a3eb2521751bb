import { setTimeout as sleep } from 'node:timers/promises'
import { anything, createRpc } from '../devnet/evm/rpc.ts'
import type { IndexerLife } from '../test/kill-points/indexer-life.ts'
import { machineFacts, percentile } from './measure.ts'
import { openPair, type Pair, type Who } from './takeover-pair.ts'

/** Longer than every lease: the writer's lock 15 s, a silent transaction 20 s, the queue's locks and looks 30 s. */
const FROZEN_MS = 65_000
/** At work for so long before its leader is disturbed. */
const AT_WORK_MS = 1_500
const BLOCK_EVERY_MS = 100

interface Takeover {
  /** From the signal until the other one is the network's writer, and until it has written a block. */
  leadsMs: number
  writesMs: number
  /** Of the one that was frozen: steps of its own that it tried to write when it woke up, all void. */
  voidSteps: number
}

/**
 * How long it takes until the standby has taken over from a leader that is killed, and from one that is frozen. The frozen
 * one wakes up when another one has led for long, and may write nothing: who wrote what is asked of the database.
 */
export async function benchTakeover(runs: number): Promise<void> {
  console.log(machineFacts())
  console.log(`
| queue | leader | runs | other leads, ms: median | max | other writes, ms: median | max | void steps of the woken |
|---|---|---|---|---|---|---|---|`)
  for (const queue of ['postgres', 'redis'] as const) {
    const pair = await openPair(queue)
    if (pair === null) continue
    const mining = new AbortController()
    const mined = mine(pair.rpcUrl, mining.signal)
    try {
      for (const kind of ['SIGKILL', 'SIGSTOP'] as const) {
        const takeovers: Takeover[] = []
        for (let run = 0; run < runs; run += 1) takeovers.push(await takeOver(pair, kind))
        console.log(`| ${queue} | ${kind} | ${runs} | ${columns(takeovers).join(' | ')} |`)
      }
      mining.abort()
      await mined
      await pair.examine()
    } finally {
      mining.abort()
      await mined
      await pair.stop()
    }
  }
}

function columns(takeovers: Takeover[]): string[] {
  const of = (pick: (one: Takeover) => number): string[] => {
    const samples = takeovers.map(pick)
    return [percentile(samples, 50), percentile(samples, 100)].map((ms) => ms.toFixed(0))
  }
  const voidSteps = takeovers.reduce((sum, one) => sum + one.voidSteps, 0)
  return [...of((one) => one.leadsMs), ...of((one) => one.writesMs), String(voidSteps)]
}

async function takeOver(pair: Pair, kind: 'SIGKILL' | 'SIGSTOP'): Promise<Takeover> {
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

/** It wakes up, believes that it leads, and must find out without having written anything. */
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
