import { join } from 'node:path'
import { anything, createRpc } from '../../devnet/evm/rpc.ts'
import { isDatabaseRetryable } from '../../shared/db/transaction.ts'
import { messageOf } from '../../shared/errors.ts'
import { compareWithTruth, lookForLeaks, lookForLeftovers, replayDiffers, untilSynced } from './settle.ts'
import { takeSample, type Sample } from './soak-sample.ts'
import { setStage, type Stage } from './stage.ts'
import { badAnswers, outOfBounds } from './soak-bounds.ts'
import { ask, bringLightFaults, bringLightMishaps, pause, playAtPace } from './soak-traffic.ts'
import { add, type Tally } from './tally.ts'

export interface SoakOptions {
  seed: string
  minutes: number
  queue: 'postgres' | 'redis'
  isBuilt: boolean
  onLine: (line: string) => void
  /** Called with each sample. */
  onSample?: (sample: Sample) => void
}

export interface SoakReport {
  samples: Sample[]
  /** Rounds of the player (one block or none each), contract events, answers by status, mishaps, reorgs. */
  happened: Tally
  faults: Tally
  /** Compared with the chains at the end. */
  records: number
  loans: number
  /** Broken promises; empty when all held. */
  complaints: string[]
}

const MOST_SAMPLES = 120
const LEAST_BETWEEN_SAMPLES_MS = 2_000
/** Terms are read at their event's block. The node keeps a copy of its whole state for each of this many blocks. */
const STATE_OF_BLOCKS = 100
/** Runs the whole service at ten times the devnet's pace with light faults, and samples its resources. */
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
    playAtPace(stage, ending, happened),
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

/** The database or Redis may be frozen now; a later sample will do. */
async function sampleUnlessAway(stage: Stage, minutes: number): Promise<Sample | undefined> {
  try {
    return await takeSample(stage, minutes)
  } catch (error) {
    if (isDatabaseRetryable(error)) return undefined
    throw error
  }
}
