import { join } from 'node:path'
import { createRandom } from '../../devnet/evm/random.ts'
import { anything, createRpc } from '../../devnet/evm/rpc.ts'
import { messageOf } from '../../shared/errors.ts'
import { bringAttacks } from './attacks.ts'
import { checkHistory } from './check-history.ts'
import { committedStates, recordStates } from './committed-states.ts'
import { heldEvidence } from './held-evidence.ts'
import { read, type Diary } from './readers.ts'
import {
  compareWithTruth,
  lookForLeaks,
  lookForLeftovers,
  replayDiffers,
  untilSynced,
  verifyAndAudit,
} from './settle.ts'
import type { ServiceProcess } from './service-process.ts'
import { setStage, type Stage } from './stage.ts'
import { leftOut } from './mishaps.ts'
import { bringMishaps, changeWeather, playWithReorgs } from './storm.ts'
import { add, describeTally, emptyToll, type Tally, type Toll } from './tally.ts'

export interface Report {
  seed: string
  setUp: string
  /** Time from the end of the faults until both networks are at their nodes' heads. */
  settledMs: number
  records: number
  loans: number
  channels: number
  /** Number of states of the history, and of the answers that matched one. */
  states: number
  answers: number
  excused: number
  slowestAnswerMs: number
  faults: Tally
  requests: number
  toll: Toll
  /** Duration of each part in seconds, in order. */
  parts: [what: string, seconds: number][]
  /** Starts and unforced exits of each program. */
  programs: string[]
  /** Broken promises; empty when all held. */
  complaints: string[]
  /** The programs' output and the index's content, after a failure. */
  output: string
}

export interface SimulationOptions {
  seed: string
  /** Minutes of faults; the settling comes on top. */
  minutes: number
  hasRedis: boolean
  isBuilt?: boolean
  /** Interval of the service's looks at its nodes; missing: the seed chooses. */
  pollIntervalMs?: number | undefined
  /** Outsiders attack queue, database and API meanwhile; `verify` and `audit` must find no difference at the end. */
  hasAttacks?: boolean
  onLine?: (line: string) => void
}

const READERS = 3
const FIRST_LOANS = 4
/** A connection attempt for a reader's request may have begun just before the database was back. */
const GRACE_MS = 1_000
/**
 * More than twice the two seconds after which the API gives up a statement or a connection, so a longer wait is its
 * fault. Both indexers catch up at the same time, so on a slow machine an answer takes a second.
 */
const PATIENCE_MS = 5_000
/** Seconds of faults from which an indexer is frozen for longer than every lease. */
const LONG_STORM_S = 55

/** Runs the whole service under every fault, chosen by the seed; then it settles and is examined. */
export async function simulate(options: SimulationOptions): Promise<Report> {
  const { seed, minutes, hasRedis, isBuilt = false, pollIntervalMs, onLine = () => undefined } = options
  const stage = await setStage({ seed, hasRedis, isBuilt, pollIntervalMs })
  try {
    await recordStates(stage.db)
    onLine(`seed ${seed}: ${[stage.setUp, ...leftOut(stage)].join(', ')}`)
    return await run(stage, minutes * 60, options.hasAttacks ?? false, onLine)
  } finally {
    await stage.stop()
  }
}

async function run(
  stage: Stage,
  seconds: number,
  hasAttacks: boolean,
  onLine: (line: string) => void,
): Promise<Report> {
  const toll = emptyToll()
  const complaints: string[] = []
  const clock = stopwatch()
  const diary: Diary = { observations: [], cutOff: 0, milliseconds: [] }
  const programs = [...stage.indexers, stage.api]
  const forwarding = new AbortController()
  const urls = { databaseUrl: stage.database.url, redisUrl: stage.redis?.url }
  // High enough that no reorg reaches a final block.
  await createRpc(stage.anvil.url).call(anything, 'anvil_mine', '0x64')
  await stage.player.playLoans(FIRST_LOANS)
  programs.forEach((program) => program.start())
  const forwarded = stage.outbox.forward(urls, join(stage.folder, 'sent'), forwarding.signal)

  const reading = new AbortController()
  const readers = Array.from({ length: READERS }, (_, reader) =>
    read(stage.apiUrl, reader, {
      ...{ random: createRandom(`${stage.seed}/reader ${reader}`), diary, signal: reading.signal },
    }).catch((error: unknown) => complaints.push(`reader ${reader}: ${messageOf(error)}`)),
  )
  clock.lap('first loans')
  const storm = AbortSignal.timeout(seconds * 1000)
  await Promise.all([
    playWithReorgs(stage, storm, toll).then(() => clock.lap('storm and its last loans')),
    changeWeather(stage, storm),
    bringMishaps(stage, storm, toll, seconds >= LONG_STORM_S),
    hasAttacks ? bringAttacks(stage, storm, toll) : undefined,
  ])
  clock.lap('last mishap')
  onLine(`the faults are over: ${describeTally(toll.mishaps)}`)
  complaints.push(...(await untilSynced(stage)))
  const settledS = clock.lap('settling')

  // Vouchers that were lost with Redis are handed in again, as their owners would do.
  const again = stage.outbox.forward(urls, join(stage.folder, 'sent again'), forwarding.signal)
  await createRpc(stage.anvil.url).call(anything, 'anvil_mine', '0x1')
  await stage.lotus.chain.mine(2)
  complaints.push(...(await restartInTurn(stage.indexers)), ...(await untilSynced(stage)))
  clock.lap('restart in turn')
  const truth = await compareWithTruth(stage).catch((error: unknown) => ({
    ...{ records: 0, loans: 0, channels: 0 },
    differences: [`the read model could not be compared: ${messageOf(error)}`],
  }))
  complaints.push(...truth.differences, ...(await lookForLeftovers(stage)))
  if (hasAttacks) complaints.push(...(await verifyAndAudit(stage)))
  clock.lap('comparing')
  forwarding.abort()
  await Promise.all([forwarded, again])
  reading.abort()
  await Promise.all(readers)

  complaints.push(...programs.flatMap((program) => program.complaints))
  for (const program of programs) {
    const how = await program.stop()
    if (how !== 0) complaints.push(`${program.name} did not stop in order: ${String(how)}`)
  }
  complaints.push(...(await lookForLeaks(stage)))
  clock.lap('stopping')
  const { changes, stepEnds } = await committedStates(stage.db)
  const history = checkHistory({
    ...{ changes, stepEnds, observations: diary.observations },
    ...{ databaseAway: stage.database.away, apiAway: stage.api.away },
    ...{ graceMs: GRACE_MS, patienceMs: PATIENCE_MS },
  })
  clock.lap('history check')
  complaints.push(...history.complaints, ...(await replayDiffers(stage)))
  clock.lap('replay')
  const faults: Tally = new Map()
  for (const { counts } of stage.weathers) for (const [kind, times] of counts) add(faults, kind, times)
  return {
    ...{ seed: stage.seed, setUp: stage.setUp, settledMs: settledS * 1000, faults, toll, complaints },
    ...{ parts: clock.laps, requests: stage.proxies.reduce((sum, { requests }) => sum + requests, 0) },
    ...{ records: truth.records, loans: truth.loans, channels: truth.channels },
    ...{ states: history.states, answers: history.checked, excused: history.excused },
    slowestAnswerMs: Math.max(0, ...diary.milliseconds),
    programs: programs.map(({ name, starts, ownExits }) => `${name}: ${starts} starts, ${ownExits} exits`),
    output: complaints.length === 0 ? '' : await evidence(stage, programs),
  }
}

async function evidence({ db }: Stage, programs: readonly ServiceProcess[]): Promise<string> {
  const said = programs.map(({ name, output }) => `--- ${name}\n${output}`)
  const held = await heldEvidence(db).catch((error: unknown) => `--- no log: ${messageOf(error)}`)
  return [...said, held].join('\n')
}

/**
 * Restarts the programs like an operator's upgrade: one leaves while the other leads. The leader reads the node's
 * vouchers.
 */
async function restartInTurn(programs: readonly ServiceProcess[]): Promise<string[]> {
  const complaints: string[] = []
  for (const program of programs) {
    const how = await program.stop()
    if (how !== 0) complaints.push(`${program.name} did not leave in order: ${String(how)}`)
    program.start()
    await program.untilUp()
  }
  return complaints
}

function stopwatch() {
  const laps: [string, number][] = []
  let since = performance.now()
  return {
    laps,
    /** Returns the seconds since the last lap. */
    lap(what: string): number {
      const now = performance.now()
      const seconds = (now - since) / 1000
      laps.push([what, seconds])
      since = now
      return seconds
    },
  }
}
