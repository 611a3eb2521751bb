import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { arch } from 'node:os'

/**
 * The wall clock of one process and its children, which steps while they run; their monotonic clock continues, as on a
 * real machine. A preloaded library of the Debian package `faketime` does it.
 */
export interface WallClock {
  /** Variables for the process that has this clock. */
  readonly environment: NodeJS.ProcessEnv
  /** Sets the clock this many seconds ahead of (or behind) the true time; effective within a second. */
  set(aheadS: number): void
}

const LIBRARY = 'libfaketimeMT.so.1'
const FOLDERS: Partial<Record<NodeJS.Architecture, string>> = {
  x64: '/usr/lib/x86_64-linux-gnu/faketime',
  arm64: '/usr/lib/aarch64-linux-gnu/faketime',
}

/** Path of the library; undefined: clocks cannot step here. */
function library(): string | undefined {
  const file = join(FOLDERS[arch() as NodeJS.Architecture] ?? '', LIBRARY)
  return existsSync(file) ? file : undefined
}

/**
 * Makes a clock that is right until it is set. The process must have access to `folder`. Undefined: `faketime` is not
 * installed.
 */
export function createWallClock(folder: string, name: string): WallClock | undefined {
  const preloaded = library()
  if (preloaded === undefined) return undefined
  const file = join(folder, `${name}.clock`)
  const set = (aheadS: number): void => {
    // Renamed into place, because the library would reject a file that is empty for a moment.
    writeFileSync(`${file}.next`, `${aheadS < 0 ? '-' : '+'}${Math.abs(aheadS)}\n`, { mode: 0o644 })
    renameSync(`${file}.next`, file)
  }
  set(0)
  return {
    environment: {
      ...{ LD_PRELOAD: preloaded, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_CACHE_DURATION: '1' },
      // Time-outs and pauses use the monotonic clock, which no step moves. Files keep their true times.
      ...{ FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' },
      // A killed process would leave shared memory behind.
      FAKETIME_DISABLE_SHM: '1',
    },
    set,
  }
}
