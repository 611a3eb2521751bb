import { fork, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../../shared/errors.ts'
import { LastWords } from './last-words.ts'
import { clearGroup, killGroup } from './process-group.ts'

export interface ChildSpec {
  name: string
  /** The program's TypeScript file, relative to the project. */
  program: string
  args?: string[]
  env: NodeJS.ProcessEnv
  /** How readiness shows: the child sends 'ready' over IPC, or this function returns true when polled. */
  ready: 'message' | (() => Promise<boolean>)
  /** Milliseconds that it may take to stop before it is killed. */
  graceMs?: number
  /** File with all its output, named when it ends too early. */
  logFile?: string
}

export interface ChildEvents {
  onSpawn: (name: string, pid: number) => void
  onLine: (name: string, line: string, stream: 'out' | 'error', wasReady: boolean) => void
  onRestart: (name: string, how: string, delayMs: number) => void
}

export interface SupervisedChild {
  readonly name: string
  readonly pid: number | undefined
  /** Resolves at its first readiness; rejects with its last words if it ended before. */
  readonly ready: Promise<unknown>
  /** Rejects with a ConfigError when a later start ends in exit code 2: no restart can mend a configuration. */
  readonly failed: Promise<never>
  stop: () => Promise<void>
  /** Kills it and all its descendants at once. */
  kill: () => void
}

const FIRST_DELAY_MS = 200
const LAST_DELAY_MS = 5000
/** A child that lived this long restarts with the shortest delay. */
const STEADY_MS = 30_000
const CONFIGURATION = 2

/**
 * Runs a program and restarts it whenever it dies, with growing pauses. Its own process group keeps a terminal's Ctrl-C
 * from it, so the supervisor stops its children in order. The IPC channel closes when the supervisor is gone.
 */
export function superviseChild(spec: ChildSpec, events: ChildEvents): SupervisedChild {
  let current: ChildProcess | undefined
  let stopping = false
  let wasReady = false
  const stopped = new AbortController()
  const ready = deferred<true>()
  const failed = deferred<never>()

  async function keepRunning(): Promise<void> {
    let delayMs = FIRST_DELAY_MS
    while (!stopping) {
      const startedAt = Date.now()
      const { code, how, lastWords } = await runOnce()
      if (current?.pid !== undefined) await clearGroup(current.pid)
      if (isStopping()) return
      const words = lastWords ?? `${spec.name} ${how}`
      if (code === CONFIGURATION || !wasReady) {
        const where = spec.logFile === undefined ? '' : ` (log: ${spec.logFile})`
        fail(code === CONFIGURATION ? new ConfigError(words) : new Error(words + where))
        return
      }
      if (Date.now() - startedAt > STEADY_MS) delayMs = FIRST_DELAY_MS
      events.onRestart(spec.name, how, delayMs)
      await sleep(delayMs, undefined, { signal: stopped.signal }).catch(() => undefined)
      delayMs = Math.min(delayMs * 2, LAST_DELAY_MS)
    }
  }

  // A function avoids TypeScript's narrowing of the flag across awaits.
  const isStopping = (): boolean => stopping

  function fail(error: Error): void {
    stopping = true
    ready.reject(error)
    failed.reject(error)
  }

  async function runOnce(): Promise<{ code: number | null; how: string; lastWords: string | undefined }> {
    const lastWords = new LastWords(spec.name)
    const child = forkProgram(spec)
    current = child
    if (child.pid !== undefined) events.onSpawn(spec.name, child.pid)
    for (const stream of ['out', 'error'] as const) {
      const input = stream === 'out' ? child.stdout : child.stderr
      if (input === null) continue
      createInterface({ input }).on('line', (line) => {
        if (stream === 'error') lastWords.add(line)
        events.onLine(spec.name, line, stream, wasReady)
      })
    }
    void untilReady(child, spec.ready).then((yes) => {
      wasReady ||= yes
      if (yes) ready.resolve(true)
    })
    return new Promise((resolve) => {
      child.once('error', (error) =>
        resolve({ code: null, how: error.message, lastWords: `${spec.name}: ${error.message}` }),
      )
      // 'close' comes after the last line, but a grandchild that holds the pipe open must not delay us.
      child.once('exit', (code, signal) => {
        const how = signal === null ? `ended with exit code ${code ?? 'none'}` : `was ended by ${signal}`
        const end = (): void => resolve({ code, how, lastWords: lastWords.line })
        child.once('close', end)
        setTimeout(end, 200)
      })
    })
  }

  const running = keepRunning()
  return {
    name: spec.name,
    get pid() {
      return current?.pid
    },
    ready: ready.promise,
    failed: failed.promise,
    async stop() {
      stopping = true
      stopped.abort()
      current?.kill('SIGTERM')
      const timer = setTimeout(() => {
        if (current?.pid !== undefined) killGroup(current.pid, 'SIGKILL')
      }, spec.graceMs ?? 5000)
      await running
      clearTimeout(timer)
      ready.reject(new Error(`${spec.name} was stopped`))
    },
    kill() {
      stopping = true
      stopped.abort()
      if (current?.pid !== undefined) killGroup(current.pid, 'SIGKILL')
    },
  }
}

/** A promise settled from outside; an unhandled rejection of it must not end the process. */
function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void } {
  let settle!: { resolve: (value: T) => void; reject: (error: Error) => void }
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }))
  promise.catch(() => undefined)
  return { promise, ...settle }
}

function forkProgram({ program, args, env }: ChildSpec): ChildProcess {
  return fork(fileURLToPath(new URL(`../../${program}`, import.meta.url)), args ?? [], {
    execArgv: ['--no-warnings', '--enable-source-maps', '--import', import.meta.resolve('tsx')],
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env,
  })
}

/** Resolves false when the child ended first. */
function untilReady(child: ChildProcess, how: ChildSpec['ready']): Promise<boolean> {
  const ended = new AbortController()
  child.once('exit', () => ended.abort())
  return new Promise((resolve) => {
    ended.signal.addEventListener('abort', () => resolve(false))
    if (how === 'message') child.on('message', (message) => message === 'ready' && resolve(true))
    else void poll(how, ended.signal).then(resolve)
  })
}

async function poll(ask: () => Promise<boolean>, ended: AbortSignal): Promise<boolean> {
  while (!ended.aborted) {
    if (await ask().catch(() => false)) return true
    await sleep(80)
  }
  return false
}
