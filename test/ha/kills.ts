import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from './service.ts'
import { startReaders, type ReadCounts } from './readers.ts'

const CLIENTS = 4
const WITHIN_MS = 120_000

/** A server that a scenario kills, and how the set-up becomes whole again. */
export interface Victim {
  /** Ends one server at once. */
  kill(): Promise<void>
  /** Resolves once the next kill may come. */
  isWhole(): Promise<void>
}

export interface KillFigures extends ReadCounts {
  kills: number
  /** Seconds from each kill until the position moved on. */
  seconds: number[]
  /** Kills after which the position was below one that was seen before. */
  lost: number
  differences: string[]
}

/** Kills a server again and again while loans are played and clients read. */
export async function killAgainAndAgain(
  service: Service,
  victim: Victim,
  kills: number,
  report: (line: string) => void,
): Promise<KillFigures> {
  const reading = new AbortController()
  const { counts, done } = startReaders(service.apiUrl, CLIENTS, reading.signal)
  const seconds: number[] = []
  let lost = 0
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      const before = (await service.position()) ?? -1
      const killedMs = performance.now()
      await victim.kill()
      const after = await untilWrites(service, before)
      seconds.push((performance.now() - killedMs) / 1000)
      if (after < before) lost += 1
      report(
        `kill ${kill} of ${kills}: writes again after ${seconds.at(-1)?.toFixed(1) ?? '?'} s, ${counts.failed} of ${counts.reads} reads failed`,
      )
      await victim.isWhole()
    }
  } finally {
    reading.abort()
    await done
  }
  return { ...counts, kills, seconds, lost, differences: await service.differences() }
}

/** Resolves with the first position that differs from the one before the kill, if it is written after it. */
async function untilWrites(service: Service, before: number): Promise<number> {
  const deadline = performance.now() + WITHIN_MS
  // A step may have been written between the look and the kill; the second change is of the new server.
  let changes = 0
  let last = before
  for (;;) {
    const now = await service.position()
    if (now !== undefined && now !== last) {
      if (now < before) return now
      changes += 1
      last = now
      if (changes === 2) return now
    }
    if (performance.now() > deadline) throw new Error(`nothing was written for ${WITHIN_MS / 1000} s`)
    await sleep(20)
  }
}
