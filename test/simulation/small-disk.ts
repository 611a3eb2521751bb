import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A disk of its own, so small that it can be filled up. */
export interface SmallDisk {
  /** Takes every byte that is left. */
  fill(): void
  empty(): void
  /** Nobody may use it any more. */
  unmount(): void
}

const CHUNK = Buffer.alloc(1024 * 1024, 1)
const BALLAST = 'ballast'

/** Mounts a disk of so many MiB in memory at `folder`. Undefined where that is not allowed (it needs root). */
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
        // It is gone already.
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
