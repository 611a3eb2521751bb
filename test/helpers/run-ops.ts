import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { serviceProgram } from './service-program.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Ran {
  code: number
  out: string
  err: string
}

/** Runs one operators' command in a process of its own, as `npm run ops -- …` does. */
export async function runOps(
  t: Test,
  setup: { databaseUrl: string; networks: object },
  ...args: string[]
): Promise<Ran> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-ops-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const networksFile = join(folder, 'networks.json')
  await writeFile(networksFile, JSON.stringify(setup.networks))
  const { path, flags } = serviceProgram('indexer/cli/main')
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...flags, path, ...args],
      {
        cwd: ROOT,
        env: { PATH: process.env['PATH'], DATABASE_URL: setup.databaseUrl, NETWORKS_FILE: networksFile },
      },
      (error, out, err) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    )
  })
}
