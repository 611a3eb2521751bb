import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processIdentity } from '../evm/process-identity.ts'

const GRACE_MS = 10_000

/**
 * Stops a server whose starter was killed, because it still holds its data directory. Removes a postmaster.pid without
 * a server of this directory: Postgres would trust it when another process has reused the id.
 */
export async function stopOrphan(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postmaster.pid')
  const pid = readPid(pidFile)
  if (pid === undefined) return
  const identity = processIdentity(pid)
  if (identity === undefined || !commandOf(pid).includes(dataDir)) {
    rmSync(pidFile, { force: true })
    return
  }
  process.kill(pid, 'SIGINT')
  const until = Date.now() + GRACE_MS
  while (processIdentity(pid) === identity) {
    if (Date.now() > until) process.kill(pid, 'SIGKILL')
    await sleep(50)
  }
}

function readPid(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return execFileSync('ps', ['-o', 'command=', '-p', `${pid}`], { encoding: 'utf8' })
  }
}
