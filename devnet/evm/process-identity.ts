import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/**
 * Returns the start time of a process in the system's own format, which distinguishes it from a later process with the
 * same id. Undefined if there is no such process, or it is dead and not yet reaped.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    return existsSync('/proc/self/stat') ? identityOnLinux(pid) : identityByPs(pid)
  } catch {
    return undefined
  }
}

function identityOnLinux(pid: number): string | undefined {
  // The second field is the program's name in parentheses and may hold any text, so fields are counted after it.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? undefined : fields[19]
}

function identityByPs(pid: number): string | undefined {
  const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  return started === '' ? undefined : started
}
