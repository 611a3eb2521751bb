import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/**
 * What tells a process from a later one with the same id: when it was started, in the system's own words.
 * Undefined if there is no such process (or it is dead and only waits to be reaped).
 */
export function processIdentity(pid: number): string | undefined {
  try {
    return existsSync('/proc/self/stat') ? identityOnLinux(pid) : identityByPs(pid)
  } catch {
    return undefined
  }
}

function identityOnLinux(pid: number): string | undefined {
  // The second field is the program's name in parentheses and may hold anything: count from behind it.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? undefined : fields[19]
}

function identityByPs(pid: number): string | undefined {
  const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  return started === '' ? undefined : started
}
