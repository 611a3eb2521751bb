import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { processIdentity } from '../evm/process-identity.ts'

const holderSchema = z.object({ pid: z.int().positive(), identity: z.string() })

export interface DataDirLock {
  /** Whether a process that died without letting go held it before. */
  takenOver: boolean
  release: () => void
}

/**
 * One supervisor per data directory. A lock whose process is dead is taken over, also when its number belongs to
 * another process by now. Throws one line when a living supervisor has it.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const file = join(dataDir, 'supervisor.lock')
  const own = `${file}.${process.pid}`
  // Linking puts a whole file in place at once: nobody reads half a lock, and only one can have made it.
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
    // Gone in this moment, or not one of ours: it protects nothing.
    return undefined
  }
}
