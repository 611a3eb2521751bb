import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Check, Mutation } from './mutations.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMPLAINT_CHARACTERS = 160

/** A copy of this checkout in which code may be broken. */
export interface Workshop {
  /** Returns whether the check passes with the present code; if not, its first complaint. */
  run(check: Check): Promise<Outcome>
  /** Runs `work` while the code is broken, and then restores it. Throws when the text is not there exactly once. */
  broken<T>(mutation: Mutation, work: () => Promise<T>): Promise<T>
  /** Ends running checks. */
  close(): Promise<void>
}

export interface Outcome {
  passed: boolean
  complaint: string
}

/** Copies the files that git tracks, with their content on disk; the packages are shared. */
export function openWorkshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), 'loan-activity-mutations-'))
  const files = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  // A tracked file may be deleted on disk.
  for (const file of files.split('\0').filter((name) => existsSync(join(ROOT, name)) && name !== '')) {
    cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  }
  let running: ChildProcess | undefined
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return {
    async run(check) {
      const started = start(folder, check)
      running = started.child
      return started.outcome
    },
    async broken(mutation, work) {
      const file = join(folder, mutation.file)
      const whole = readFileSync(file, 'utf8')
      writeFileSync(file, brokenText(whole, mutation))
      try {
        return await work()
      } finally {
        writeFileSync(file, whole)
      }
    },
    async close() {
      if (running?.exitCode === null && running.signalCode === null) {
        running.kill('SIGTERM')
        await once(running, 'close')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** (pure) Throws an Error that names the mutation when its text is not there exactly once. */
export function brokenText(whole: string, { file, from, to }: Mutation): string {
  const parts = whole.split(from)
  const [before, after] = parts
  if (before === undefined || after === undefined || parts.length !== 2) {
    throw new Error(`${file} has ${parts.length - 1} times, and not once: ${from}`)
  }
  return `${before}${to}${after}`
}

function start(folder: string, check: Check): { child: ChildProcess; outcome: Promise<Outcome> } {
  const child = spawn(process.execPath, ['--import', 'tsx', ...argumentsOf(check)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let said = ''
  const keep = (chunk: Buffer): string => (said += chunk.toString())
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const outcome = once(child, 'close').then(([code]) => ({
    passed: code === 0,
    complaint: firstComplaint(said),
  }))
  return { child, outcome }
}

function argumentsOf(check: Check): string[] {
  const simulation = 'test/simulation/main.ts'
  if ('test' in check) return ['test/run.ts', '--disable-coverage', check.test]
  if ('seed' in check) return [simulation, '--seed', check.seed, '--minutes', `${check.minutes}`]
  return [simulation, '--soak', '--seed', 'mutation', '--minutes', `${check.soakMinutes}`]
}

/** (pure) Returns the name of the first failed test, or a simulation's first complaint. */
export function firstComplaint(said: string): string {
  const line = /WRONG: .*|✖ .*|not ok .*|Error: .*/.exec(said)?.[0] ?? said.trimEnd().split('\n').at(-1) ?? ''
  return line.slice(0, COMPLAINT_CHARACTERS)
}
