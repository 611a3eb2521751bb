import { readFileSync } from 'node:fs'

export interface ProcessMemory {
  /** MiB that are in memory now, and that were at most since the process began. */
  residentMiB: number
  peakMiB: number
}

/** Of one process, as Linux tells it; NaN where it does not, or the process is gone. */
export function memoryOf(pid: number): ProcessMemory {
  let status = ''
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    // It is not there.
  }
  const mebibytes = (name: string): number =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? NaN) / 1024)
  return { residentMiB: mebibytes('VmRSS'), peakMiB: mebibytes('VmHWM') }
}
