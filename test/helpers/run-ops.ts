import { execFile, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { serviceProgram } from './service-program.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Ran {
  code: number
  out: string
  err: string
}

interface Setup {
  databaseUrl: string
  networks: object
  env?: Record<string, string>
}

/** Runs one operators' command in a process of its own, like `npm run ops -- …`. */
export async function runOps(t: Test, setup: Setup, ...args: string[]): Promise<Ran> {
  return (await startOps(t, setup, ...args)).ended
}

/** Like {@link runOps}, for a command that gets a signal while it runs. */
export async function startOps(
  t: Test,
  setup: Setup,
  ...args: string[]
): Promise<{ child: ChildProcess; ended: Promise<Ran> }> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-ops-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const networksFile = join(folder, 'networks.json')
  await writeFile(networksFile, JSON.stringify(setup.networks))
  const { path, flags } = serviceProgram('indexer/cli/main')
  const running = promisify(execFile)(process.execPath, [...flags, path, ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: setup.databaseUrl,
      NETWORKS_FILE: networksFile,
      ...setup.env,
    },
  })
  const ended = running.then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string }
      // A command that a signal ended has no code.
      return { code: typeof code === 'number' ? code : -1, out: stdout, err: stderr }
    },
  )
  return { child: running.child, ended }
}
