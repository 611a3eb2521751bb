import { closeSync, existsSync, mkdirSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Anvil writes its state in place, so a kill in the middle leaves half a file. Each finished file is moved to
 * `<path>.good`, and anvil then writes a new one. One of the two is whole at any time.
 */
export interface StateFile {
  readonly path: string
  /** Files to try to start from, best first. */
  candidates(): string[]
  /** True when an earlier run left files, usable or not. */
  hasRemains(): boolean
  /** Moves a finished dump out of the next one's way. Callers repeat it regularly. */
  keepFinished(): void
  /** Moves a file that anvil refuses aside for inspection. */
  reject(candidate: string): string
}

interface Seen {
  size: number
  modified: number
}

export function stateFile(path: string): StateFile {
  const good = `${path}.good`
  const unusable = `${path}.unusable`
  let last: Seen | undefined
  mkdirSync(dirname(path), { recursive: true })
  return {
    path,
    candidates: () => [path, good].filter((file) => existsSync(file) && isWhole(file)),
    hasRemains: () => [path, good, unusable].some((file) => existsSync(file)),
    keepFinished() {
      const now = look(path)
      const settled = now !== undefined && now.size === last?.size && now.modified === last.modified
      if (settled && isWhole(path)) renameSync(path, good)
      last = now
    },
    reject(candidate) {
      rmSync(unusable, { force: true })
      renameSync(candidate, unusable)
      return unusable
    },
  }
}

function look(file: string): Seen | undefined {
  if (!existsSync(file)) return undefined
  const { size, mtimeMs } = statSync(file)
  return { size, modified: mtimeMs }
}

/** A truncated JSON object rarely ends with a brace. If it does, anvil refuses it and the next file is tried. */
function isWhole(file: string): boolean {
  const size = statSync(file).size
  if (size < 2) return false
  const end = Buffer.alloc(1)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, end, 0, 1, size - 1)
  } finally {
    closeSync(handle)
  }
  return end.toString() === '}'
}
