import { readFileSync } from 'node:fs'

export interface ProcessMemory {
  /** MiB in memory now, and at most since the process began. */
  residentMiB: number
  peakMiB: number
}

/** Reads one process's memory from Linux; NaN where it reports none or the process is gone. */
export function memoryOf(pid: number): ProcessMemory {
  let status = ''
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    // The process has ended.
  }
  const mebibytes = (name: string): number =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? NaN) / 1024)
  return { residentMiB: mebibytes('VmRSS'), peakMiB: mebibytes('VmHWM') }
}
