import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A disk of its own, small enough to fill up. */
export interface SmallDisk {
  /** Uses up all free bytes. */
  fill(): void
  empty(): void
  /** No process may use it after this. */
  unmount(): void
}

const CHUNK = Buffer.alloc(1024 * 1024, 1)
const BALLAST = 'ballast'

/** Mounts a disk of this many MiB in memory at `folder`. Undefined where that is not allowed (it needs root). */
export function mountSmallDisk(folder: string, mebibytes: number): SmallDisk | undefined {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0755`, 'tmpfs', folder], {
      stdio: 'ignore',
    })
  } catch {
    return undefined
  }
  const ballast = join(folder, BALLAST)
  return {
    fill: () => writeUntilFull(ballast),
    empty: () => rmSync(ballast, { force: true }),
    unmount: () => {
      try {
        execFileSync('umount', ['--lazy', folder], { stdio: 'ignore' })
      } catch {
        // It is already gone.
      }
    },
  }
}

function writeUntilFull(file: string): void {
  const handle = openSync(file, 'a')
  try {
    for (const size of [CHUNK.length, 4096]) {
      try {
        for (;;) writeSync(handle, CHUNK, 0, size)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(handle)
  }
}
