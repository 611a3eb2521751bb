import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { arch } from 'node:os'

/**
 * The wall clock of one process (and of what it starts), which steps while the process runs; its monotonic clock goes
 * on as it does on a real machine. The Debian package `faketime` does it, by a preloaded library.
 */
export interface WallClock {
  /** For the process whose clock this is. */
  readonly environment: NodeJS.ProcessEnv
  /** From now on the clock shows so many seconds more (or less) than the truth; seen within a second. */
  set(aheadS: number): void
}

const LIBRARY = 'libfaketimeMT.so.1'
const FOLDERS: Partial<Record<NodeJS.Architecture, string>> = {
  x64: '/usr/lib/x86_64-linux-gnu/faketime',
  arm64: '/usr/lib/aarch64-linux-gnu/faketime',
}

/** Where the library is; undefined: clocks cannot step here. */
function library(): string | undefined {
  const file = join(FOLDERS[arch() as NodeJS.Architecture] ?? '', LIBRARY)
  return existsSync(file) ? file : undefined
}

/** A clock that is right until it is set. `folder` must be open to the process. Undefined: `faketime` is not installed. */
export function createWallClock(folder: string, name: string): WallClock | undefined {
  const preloaded = library()
  if (preloaded === undefined) return undefined
  const file = join(folder, `${name}.clock`)
  const set = (aheadS: number): void => {
    // Moved into its place, for a file that is empty for a moment would be read as a mistake.
    writeFileSync(`${file}.next`, `${aheadS < 0 ? '-' : '+'}${Math.abs(aheadS)}\n`, { mode: 0o644 })
    renameSync(`${file}.next`, file)
  }
  set(0)
  return {
    environment: {
      ...{ LD_PRELOAD: preloaded, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_CACHE_DURATION: '1' },
      // Time-outs and pauses run by the monotonic clock, which no step moves; nor do the files' times.
      ...{ FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' },
      // Shared memory would be left behind by whoever is killed.
      FAKETIME_DISABLE_SHM: '1',
    },
    set,
  }
}
