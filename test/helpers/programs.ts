import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The environment of a shell on a clean machine: no variable of this test configures the service. */
function cleanEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME }
}

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface RunningProgram {
  pid: number
  ended: Promise<Ended>
  stdout: () => string
  stderr: () => string
  signal: (signal: NodeJS.Signals) => void
  /** Resolves with the match once standard output has it; rejects when the program ends first. */
  printed: (pattern: RegExp) => Promise<RegExpExecArray>
}

/** Runs the program of `npm start` or another script like npm, but without npm between. */
export function runScript(
  program: string,
  args: string[],
  environment: Record<string, string>,
): RunningProgram {
  return run(process.execPath, ['.config/run.mjs', program, ...args], ROOT, environment)
}

/** Runs `npm run <args>` in a folder that has a package.json. */
export function runNpm(folder: string, args: string[], environment: Record<string, string>): RunningProgram {
  return run('npm', ['run', '--silent', ...args], folder, environment)
}

function run(
  command: string,
  args: string[],
  cwd: string,
  environment: Record<string, string>,
): RunningProgram {
  const child = spawn(command, args, {
    cwd,
    env: { ...cleanEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let error = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()))
  let isOver = false
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code, signal) => {
      isOver = true
      resolve({ code, signal })
    }),
  )
  const printed = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(out)
      if (match !== null) return match
      if (isOver) throw new Error(`it ended without printing ${String(pattern)}:\n${out}\n${error}`)
      await sleep(20)
    }
  }
  return {
    pid: child.pid ?? 0,
    ended,
    stdout: () => out,
    stderr: () => error,
    signal: (signal) => child.kill(signal),
    printed,
  }
}

/** Returns every living process, direct child or not, with this DATA_DIR in its environment. */
export function processesWith(dataDir: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const environment = read(`/proc/${name}/environ`)
      if (!environment.split('\0').includes(`DATA_DIR=${dataDir}`)) return []
      return [
        { pid: Number(name), command: read(`/proc/${name}/cmdline`).replaceAll('\0', ' ').slice(0, 120) },
      ]
    })
}

/** A process may end while the list is read. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** The failure names processes that are still there. */
export async function allGone(dataDir: string): Promise<void> {
  let left = processesWith(dataDir)
  for (let tries = 0; left.length > 0 && tries < 200; tries += 1) {
    await sleep(100)
    left = processesWith(dataDir)
  }
  if (left.length > 0) throw new Error(`still there: ${left.map(({ command }) => command).join('\n')}`)
}

/** Polls until `condition` holds; throws after `milliseconds`, naming the condition. */
export async function eventually(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  milliseconds = 60_000,
): Promise<void> {
  const until = Date.now() + milliseconds
  while (!(await condition())) {
    const missing = typeof what === 'string' ? what : what()
    if (Date.now() > until) throw new Error(`waited ${milliseconds} ms in vain: ${missing}`)
    await sleep(50)
  }
}
