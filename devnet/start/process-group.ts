import { setTimeout as sleep } from 'node:timers/promises'

/** Signals every process of a group; false when the group is empty. */
export function killGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal)
    return true
  } catch {
    return false
  }
}

/** Ends the processes that a dead child left running (its anvil, its postgres): first by request, then by SIGKILL. */
export async function clearGroup(leader: number, graceMs = 3000): Promise<void> {
  // SIGINT is the orderly way out for all of them: for Postgres SIGTERM would wait for its clients.
  if (!killGroup(leader, 'SIGINT')) return
  const until = Date.now() + graceMs
  while (killGroup(leader, 0)) {
    if (Date.now() > until) killGroup(leader, 'SIGKILL')
    await sleep(30)
  }
}
