import { closeSync, existsSync, mkdirSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Anvil writes its state in place, so that a kill in the middle leaves half a file. Whenever a file has been
 * written out it is moved to `<path>.good`; anvil then makes a new one. One of the two is whole at any time.
 */
export interface StateFile {
  readonly path: string
  /** Files to try to start from, best first. */
  candidates(): string[]
  /** Whether something of an earlier run is there, usable or not. */
  hasRemains(): boolean
  /** Moves a finished dump out of the way of the next one. Call it now and then. */
  keepFinished(): void
  /** Puts a file that anvil does not take aside, where it can be looked at. */
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

/** A JSON object that was cut off rarely ends with a brace; if it does, anvil refuses it and the next one is tried. */
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
