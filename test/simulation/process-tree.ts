import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Other processes, as Linux tells them. */

export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.parent === parent)
}

export function isAlive(pid: number): boolean {
  const stat = statOf(pid)
  return stat !== undefined && stat.state !== 'Z'
}

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const [state = '', parent = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return { state, parent: Number(parent) }
  } catch {
    return undefined
  }
}

/**
 * Ends a process where it is. False where it had ended by itself, or was about to: then nobody dies of a signal, and
 * whoever waits for that would wait for ever.
 */
export async function killRunning(pid: number): Promise<boolean> {
  signal(pid, 'SIGSTOP')
  for (;;) {
    const state = statOf(pid)?.state
    if (state === undefined || state === 'Z' || state === 'X') return false
    if (state === 'T') break
    await sleep(1)
  }
  signal(pid, 'SIGKILL')
  return true
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It ended by itself.
  }
}
