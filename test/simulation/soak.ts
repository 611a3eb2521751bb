import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../devnet/evm/random.ts'
import { anything, createRpc } from '../../devnet/evm/rpc.ts'
import { isDatabaseRetryable } from '../../shared/db/transaction.ts'
import { messageOf } from '../../shared/errors.ts'
import { MISHAPS } from './mishaps.ts'
import { compareWithTruth, lookForLeaks, lookForLeftovers, replayDiffers, untilSynced } from './settle.ts'
import { takeSample, type Sample } from './soak-sample.ts'
import { setStage, type Stage } from './stage.ts'
import { add, type Tally } from './tally.ts'

export interface SoakOptions {
  seed: string
  minutes: number
  queue: 'postgres' | 'redis'
  isBuilt: boolean
  onLine: (line: string) => void
  /** Told each sample as it is taken. */
  onSample?: (sample: Sample) => void
}

export interface SoakReport {
  samples: Sample[]
  /** Rounds of the player (a block each, or none), contract events, answers by status, mishaps, reorgs. */
  happened: Tally
  faults: Tally
  /** Compared with the chains in the end. */
  records: number
  loans: number
  /** What is wrong. None: the promises held. */
  complaints: string[]
}

/** Ten times the two transactions that the lively devnet has in a second, as far as the nodes can. */
const EVENTS_PER_S = 20
const LOANS_AT_ONCE = 20
const BETWEEN_REQUESTS_MS = 50
const MOST_SAMPLES = 120
const LEAST_BETWEEN_SAMPLES_MS = 2_000
/** Terms are asked of the node at their event's block; it keeps a copy of its whole state for each of so many. */
const STATE_OF_BLOCKS = 100
/** A fault of the nodes lasts so long, and comes so often; so do what happens to processes. */
const FAULT_MS = 5_000
const FAULT_EVERY_MS = 60_000
const MISHAP_EVERY_MS = 240_000
const REORG_CHANCE = 0.002
const DEEPEST = 5
/** Those after which all processes are the same ones: what they hold is measured. */
const LIGHT = [
  'database sessions ended',
  'the database server frozen',
  'an indexer frozen, its lock lost meanwhile',
]

/** What must not grow with time: each thing of these names, and what it may be at most. */
const BOUNDS: readonly [name: RegExp, most: number][] = [
  [/: resident MiB$/, 300],
  [/: open files$/, 150],
  [/^database sessions$/, 60],
  [/^advisory locks$/, 4],
  [/^rows of ledger\.block_headers$/, 1_000],
  [/^rows of ledger\.ranges_read$/, 1_000],
  [/^rows of ledger\.waiting_vouchers$/, 500],
  [/^rows of ledger\.dead_letters$/, 100],
  [/^queue: (jobs|keys in Redis)$/, 400],
]
/** Above what a database that is away or a process that is frozen can cost. */
const MOST_UNAVAILABLE_SHARE = 0.05

/** The whole service at ten times the devnet's pace with light faults, and what it holds all the while. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { seed, queue, isBuilt } = options
  const stage = await setStage({
    ...{ seed, hasRedis: queue === 'redis', isBuilt, endpoints: 2, queue },
    ...{ historyBlocks: STATE_OF_BLOCKS, hasLargeDisk: true },
  })
  try {
    options.onLine(`seed ${seed}: ${stage.setUp}`)
    return await run(stage, options)
  } finally {
    await stage.stop()
  }
}

async function run(stage: Stage, options: SoakOptions): Promise<SoakReport> {
  const programs = [...stage.indexers, stage.api]
  const happened: Tally = new Map()
  const forwarding = new AbortController()
  await createRpc(stage.anvil.url).call(anything, 'anvil_mine', '0x64')
  programs.forEach((program) => program.start())
  const urls = { databaseUrl: stage.database.url, redisUrl: stage.redis?.url }
  const forwarded = stage.outbox.forward(urls, join(stage.folder, 'sent'), forwarding.signal)
  await stage.api.untilUp()
  const ending = AbortSignal.timeout(options.minutes * 60_000)
  const samples: Sample[] = []
  await Promise.all([
    play(stage, ending, happened),
    bringLightFaults(stage, ending),
    bringLightMishaps(stage, ending, happened),
    ask(stage, ending, happened),
    watch(stage, ending, samples, options),
  ])
  options.onLine('the faults are over')
  const complaints = await untilSynced(stage)
  options.onLine('settled; now every record is compared with the chains')
  const truth = await compareWithTruth(stage).catch((error: unknown) => ({
    ...{ records: 0, loans: 0, channels: 0 },
    differences: [`the read model could not be compared: ${messageOf(error)}`],
  }))
  complaints.push(...truth.differences, ...(await lookForLeftovers(stage)))
  options.onLine('compared; now the programs stop, and the log is replayed')
  forwarding.abort()
  await forwarded
  for (const program of programs) {
    complaints.push(...program.complaints)
    if (program.starts > 1) complaints.push(`${program.name} was started ${program.starts} times`)
    const how = await program.stop()
    if (how !== 0) complaints.push(`${program.name} did not stop in order: ${String(how)}`)
  }
  complaints.push(...(await lookForLeaks(stage)), ...(await replayDiffers(stage)))
  complaints.push(...outOfBounds(samples), ...badAnswers(happened))
  const faults: Tally = new Map()
  for (const { counts } of stage.weathers) for (const [kind, times] of counts) add(faults, kind, times)
  const { records, loans } = truth
  return { samples, happened, faults, records, loans, complaints }
}

function outOfBounds(samples: readonly Sample[]): string[] {
  const names = [...new Set(samples.flatMap(({ held }) => Object.keys(held)))]
  return BOUNDS.flatMap(([pattern, bound]) => {
    const own = names.filter((name) => pattern.test(name))
    if (own.length === 0) return [`nothing was seen of ${pattern.source}`]
    return own.flatMap((name) => {
      const most = Math.max(...samples.map(({ held }) => held[name] ?? 0))
      return most <= bound ? [] : [`${name}: ${most}, and at most ${bound} are needed`]
    })
  })
}

function badAnswers(happened: Tally): string[] {
  const of = (pattern: RegExp): number =>
    [...happened].reduce((sum, [what, times]) => sum + (pattern.test(what) ? times : 0), 0)
  const [all, unavailable] = [of(/^answers |^no answer/), of(/^answers 503/)]
  return [
    ...[...happened]
      .filter(([what]) => /^no answer|^answers 5(?!03)/.test(what))
      .map(([what, times]) => `${what}: ${times} times`),
    ...(of(/^answers 200/) === 0 ? ['no page and no loan was answered'] : []),
    ...(unavailable > all * MOST_UNAVAILABLE_SHARE ? [`${unavailable} of ${all} answers were 503`] : []),
  ]
}

/** At the pace, as far as the nodes can keep it. */
async function play(
  { seed, anvil, lotus, player }: Stage,
  signal: AbortSignal,
  happened: Tally,
): Promise<void> {
  const random = createRandom(`${seed}/soak`)
  const rpc = createRpc(anvil.url)
  const beganMs = performance.now()
  let events = 0
  const between = async (): Promise<void> => {
    add(happened, 'rounds of the player')
    add(happened, 'contract events', player.diary.length - events)
    events = player.diary.length
    if (signal.aborted) return
    if (random.chance(REORG_CHANCE)) {
      lotus.chain.reorg(random.int(1, DEEPEST), { reorder: true, drop: 0, fail: 0 })
      add(happened, 'Filecoin reorgs')
    }
    if (random.chance(REORG_CHANCE)) {
      await rpc.call(anything, 'anvil_reorg', random.int(1, DEEPEST), [])
      add(happened, 'EVM reorgs')
    }
    await pause(Math.max(0, beganMs + (events / EVENTS_PER_S) * 1000 - performance.now()), signal)
  }
  while (!signal.aborted) await player.playLoans(LOANS_AT_ONCE * 10, { loansAtOnce: LOANS_AT_ONCE, between })
}

async function bringLightFaults({ seed, weathers }: Stage, signal: AbortSignal): Promise<void> {
  const random = createRandom(`${seed}/light faults`)
  for (;;) {
    await pause(FAULT_EVERY_MS, signal)
    if (signal.aborted) return
    const weather = random.pick(weathers)
    weather.change()
    await pause(FAULT_MS, signal)
    weather.clear()
  }
}

async function bringLightMishaps(stage: Stage, signal: AbortSignal, happened: Tally): Promise<void> {
  const random = createRandom(`${stage.seed}/light mishaps`)
  const choices = MISHAPS.filter(({ name }) => LIGHT.includes(name))
  for (;;) {
    await pause(MISHAP_EVERY_MS, signal)
    if (signal.aborted) return
    const { name, bring } = random.pick(choices)
    await bring(stage, random, { kills: new Map(), isLong: false })
    add(happened, name)
  }
}

/** Pages and loans, one request after the other. */
async function ask({ seed, apiUrl }: Stage, signal: AbortSignal, happened: Tally): Promise<void> {
  const random = createRandom(`${seed}/asking`)
  let pages = 1
  while (!signal.aborted) {
    const path = random.pick([
      `activity/history/${random.int(1, pages)}`,
      `loan/ERC20/${random.int(1, 500)}`,
      `loan/FIL/${random.int(1, 500)}`,
    ])
    try {
      const response = await fetch(`${apiUrl}/api/${path}`, { signal: AbortSignal.timeout(20_000) })
      add(happened, `answers ${response.status}`)
      const answer = (await response.json()) as { pages?: number }
      pages = answer.pages ?? pages
    } catch (error) {
      add(happened, `no answer: ${messageOf(error)}`)
    }
    await pause(BETWEEN_REQUESTS_MS, signal)
  }
}

async function watch(
  stage: Stage,
  signal: AbortSignal,
  samples: Sample[],
  options: SoakOptions,
): Promise<void> {
  const beganMs = performance.now()
  const everyMs = Math.max(LEAST_BETWEEN_SAMPLES_MS, (options.minutes * 60_000) / MOST_SAMPLES)
  while (!signal.aborted) {
    await pause(everyMs, signal)
    const sample = await sampleUnlessAway(stage, (performance.now() - beganMs) / 60_000)
    if (sample === undefined) continue
    samples.push(sample)
    options.onSample?.(sample)
    const memory = stage.indexers.map(({ name }) => sample.held[`${name}: resident MiB`]).join(' and ')
    options.onLine(`minute ${sample.minutes.toFixed(1)}: ${sample.records} records, indexers ${memory} MiB`)
  }
}

/** The database, or Redis, may be frozen just now: the next one will do. */
async function sampleUnlessAway(stage: Stage, minutes: number): Promise<Sample | undefined> {
  try {
    return await takeSample(stage, minutes)
  } catch (error) {
    if (isDatabaseRetryable(error)) return undefined
    throw error
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => undefined)
}
