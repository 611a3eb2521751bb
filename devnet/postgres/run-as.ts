import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { execFileSync } from 'node:child_process'

/** The account that Postgres runs under. */
export interface Account {
  uid: number
  gid: number
}

/**
 * Postgres refuses to run as root. Undefined when we are not root, since Postgres then runs under our account.
 * Otherwise this is the owner of an existing data directory, else the system's `postgres`, else `nobody`. No account is
 * created.
 */
export function accountForPostgres(dataDir: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const existing = statSync(dataDir, { throwIfNoEntry: false })
  if (existing !== undefined && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid }
  return accountNamed('postgres') ?? accountNamed('nobody') ?? { uid: 65534, gid: 65534 }
}

function accountNamed(name: string): Account | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

export interface Invocation {
  command: string
  args: string[]
  uid?: number
  gid?: number
}

/**
 * Returns how to run `command` as `account`. Root's own folders (a checkout in /root, a private temporary directory)
 * are closed to that account. The command then keeps the one capability to pass through them. Throws, naming the
 * folder, where that is not possible.
 */
export function invocation(
  command: string,
  args: string[],
  account: Account | undefined,
  mustReach: string[],
): Invocation {
  if (account === undefined) return { command, args }
  const closed = [command, ...mustReach].flatMap((path) => closedFolder(path, account) ?? [])[0]
  if (closed === undefined) return { command, args, ...account }
  const capability = passThroughCapability()
  if (capability === undefined) {
    throw new Error(
      `the folder ${closed} is closed to the user ${account.uid} that Postgres must run as (it refuses to be root): ` +
        'put the project and DATA_DIR elsewhere, or set DATABASE_URL',
    )
  }
  const own = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups']
  const keep = [
    // The flag makes access(2), which Postgres uses to find its own binary, respect the capability.
    '--securebits=+no_setuid_fixup',
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
  ]
  return { command: 'setpriv', args: [...own, ...keep, command, ...args] }
}

/** Returns the first folder above `path` that `account` may not enter. */
function closedFolder(path: string, account: Account): string | undefined {
  const above: string[] = []
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) above.unshift(folder)
  return above.find((folder) => {
    const stat = statSync(folder, { throwIfNoEntry: false })
    if (stat === undefined) return false
    const bit = stat.uid === account.uid ? 0o100 : stat.gid === account.gid ? 0o010 : 0o001
    return (stat.mode & bit) === 0
  })
}

/** Returns CAP_DAC_READ_SEARCH, else CAP_DAC_OVERRIDE (usual for root in a container), if `setpriv` is installed. */
function passThroughCapability(): string | undefined {
  try {
    accessSync('/proc/self/status', constants.R_OK)
    execFileSync('setpriv', ['--version'], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  const held = BigInt(
    `0x${/^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`,
  )
  if ((held & 4n) !== 0n) return 'dac_read_search'
  return (held & 2n) !== 0n ? 'dac_override' : undefined
}
