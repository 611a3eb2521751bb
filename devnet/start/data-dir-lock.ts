import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { processIdentity } from '../evm/process-identity.ts'

const holderSchema = z.object({ pid: z.int().positive(), identity: z.string() })

export interface DataDirLock {
  /** True when a process that died without releasing the lock held it before. */
  takenOver: boolean
  release: () => void
}

/**
 * Allows one supervisor per data directory. The lock of a dead process is taken over, even when another process has its
 * id by now. Throws one line when a living supervisor has it.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const file = join(dataDir, 'supervisor.lock')
  const own = `${file}.${process.pid}`
  // Linking puts a whole file in place at once: no process reads half a lock, and only one can have made it.
  writeFileSync(own, JSON.stringify({ pid: process.pid, identity: processIdentity(process.pid) ?? '' }))
  try {
    for (let takenOver = false; ; takenOver = true) {
      if (tryLink(own, file)) return { takenOver, release: () => rmSync(file, { force: true }) }
      const pid = livingHolder(file)
      if (pid !== undefined) {
        throw new Error(
          `DATA_DIR ${dataDir} is in use by another \`npm start\` (process ${pid}): stop it, or set DATA_DIR to another folder`,
        )
      }
      rmSync(file, { force: true })
    }
  } finally {
    rmSync(own, { force: true })
  }
}

function tryLink(own: string, file: string): boolean {
  try {
    linkSync(own, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function livingHolder(file: string): number | undefined {
  try {
    const holder = holderSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
    return processIdentity(holder.pid) === holder.identity ? holder.pid : undefined
  } catch {
    // The lock has just gone or is not one of ours, so it protects nothing.
    return undefined
  }
}
