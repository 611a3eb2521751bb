import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Other processes, from Linux's /proc. */

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
 * Kills a running process at its present place. False where it had ended by itself or was about to: it then never dies
 * of a signal, and a caller would wait for ever.
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
