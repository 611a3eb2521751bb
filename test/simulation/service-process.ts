import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { scriptFlags } from '../helpers/script-flags.ts'
import { serviceProgram } from '../helpers/service-program.ts'
import type { Span } from './check-history.ts'
import { untilListens } from './until-listens.ts'
import type { WallClock } from './wall-clock.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The TypeScript files of the service's programs, without extension. */
export const PROGRAMS = ['indexer/main', 'api/main'] as const
type Program = (typeof PROGRAMS)[number]
const RESTART_MS = 300
const UP_WITHIN_MS = 30_000
const CONFIGURATION = 2

export interface ServiceProgram {
  name: string
  kind: 'indexer' | 'API'
  program: Program
  /** True: it runs as compiled by `npm run build`, which starts in half the time. Under `npm test` it always does. */
  isBuilt: boolean
  environment: NodeJS.ProcessEnv
  /** Its port once it is up. */
  port: number
  /** Its own clock, where clocks can step. */
  clock: WallClock | undefined
}

/** A program of the service, restarted whenever it ends, as by a supervisor. */
export class ServiceProcess {
  readonly name: string
  readonly kind: ServiceProgram['kind']
  readonly clock: WallClock | undefined
  /** Failures that no supervisor can mend, with the last output. */
  readonly complaints: string[] = []
  /** Number of starts, and of exits that the simulation did not cause. */
  starts = 0
  ownExits = 0
  /** Times at which it did not listen, or was frozen; ms since the epoch. */
  readonly away: Span[] = []
  readonly #program: ServiceProgram
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  #wanted = false
  #output = ''
  /** A frozen process cannot notice the end of this one. */
  readonly #killAtExit = (): void => void this.#child?.kill('SIGKILL')

  constructor(program: ServiceProgram) {
    this.name = program.name
    this.kind = program.kind
    this.clock = program.clock
    this.#program = program
  }

  /** Its output, the newest 200,000 characters. */
  get output(): string {
    return this.#output
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    const child = this.#child
    return child?.exitCode === null && child.signalCode === null ? child.pid : undefined
  }

  start(): void {
    this.#wanted = true
    process.once('exit', this.#killAtExit)
    this.#goesAway()
    this.#launch()
  }

  /** Resolves when it listens. */
  async untilUp(): Promise<void> {
    await untilListens(this.#program.port, () => this.#wanted)
  }

  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  freeze(): void {
    this.#goesAway()
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
    void this.#comesBack()
  }

  /** Stops it once it listens; returns its exit. Killed after 20 s. */
  async stop(): Promise<number | NodeJS.Signals | null> {
    // A process that is asked while it loads its modules dies of the signal and has not started anything.
    await Promise.race([this.untilUp(), sleep(UP_WITHIN_MS, undefined, { ref: false })])
    this.#wanted = false
    process.off('exit', this.#killAtExit)
    clearTimeout(this.#timer)
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null
    const exited = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
    const [code, signal] = (await exited) as [number | null, NodeJS.Signals | null]
    clearTimeout(timer)
    return code ?? signal
  }

  #launch(): void {
    this.starts += 1
    const { kind, program, isBuilt, environment, clock } = this.#program
    const { path, flags } = isBuilt
      ? { path: builtProgram(program), flags: ['--no-warnings'] }
      : serviceProgram(program)
    const child = fork(path, {
      cwd: ROOT,
      env: { ...environment, ...clock?.environment },
      execArgv: [...flags, ...scriptFlags(kind.toLowerCase())],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-200_000)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    child.once('exit', (code) => this.#ended(code))
    this.#child = child
    void this.#comesBack()
  }

  #goesAway(): void {
    if (this.away.at(-1)?.to !== Infinity) this.away.push({ from: Date.now(), to: Infinity })
  }

  /** Resolves once it listens; a restart in between has a call of its own. */
  async #comesBack(): Promise<void> {
    const child = this.#child
    const isUp = await untilListens(this.#program.port, () => child === this.#child && this.pid !== undefined)
    const span = this.away.at(-1)
    if (isUp && span?.to === Infinity) span.to = Date.now()
  }

  #ended(code: number | null): void {
    if (!this.#wanted) return
    this.#goesAway()
    if (code !== null) this.ownExits += 1
    if (code === CONFIGURATION) {
      this.complaints.push(`${this.name} gave up with exit code 2: ${lastLine(this.#output)}`)
    }
    this.#timer = setTimeout(() => this.#launch(), RESTART_MS)
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? ''
}

/** Returns the path of the output of `npm run build`. */
export function builtProgram(program: Program): string {
  return `${ROOT}dist/${program}.js`
}
