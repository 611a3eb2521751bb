import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { processIdentity } from './process-identity.ts'

const processSchema = z.object({ pid: z.int().positive(), started: z.string() })
const ownershipSchema = z.object({ owner: processSchema, anvil: processSchema })
type Process = z.infer<typeof processSchema>

/**
 * Stops an anvil whose owner is gone, so that no other process writes this state. Throws if the owner is alive. Returns
 * whether a process was stopped.
 */
export async function stopLeftover(pidFile: string): Promise<boolean> {
  const found = read(pidFile)
  if (found === undefined || !isAlive(found.anvil)) return false
  if (isAlive(found.owner) && found.owner.pid !== process.pid)
    throw new Error(`another devnet (process ${found.owner.pid}) runs on this data, see ${pidFile}`)
  process.kill(found.anvil.pid, 'SIGTERM')
  for (let waited = 0; waited < 15_000 && isAlive(found.anvil); waited += 50) await sleep(50)
  if (isAlive(found.anvil)) process.kill(found.anvil.pid, 'SIGKILL')
  while (isAlive(found.anvil)) await sleep(20)
  return true
}

/** Records which processes run on this state: this one and its anvil. */
export function writeOwnership(pidFile: string, anvilPid: number): void {
  const ownership = { owner: describe(process.pid), anvil: describe(anvilPid) }
  writeFileSync(`${pidFile}.new`, JSON.stringify(ownership))
  renameSync(`${pidFile}.new`, pidFile)
}

export function clearOwnership(pidFile: string): void {
  rmSync(pidFile, { force: true })
}

function read(pidFile: string): z.infer<typeof ownershipSchema> | undefined {
  if (!existsSync(pidFile)) return undefined
  try {
    return ownershipSchema.parse(JSON.parse(readFileSync(pidFile, 'utf8')))
  } catch {
    return undefined
  }
}

function describe(pid: number): Process {
  return { pid, started: processIdentity(pid) ?? 'unknown' }
}

function isAlive({ pid, started }: Process): boolean {
  return processIdentity(pid) === started
}
