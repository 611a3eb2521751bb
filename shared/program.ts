import { ConfigError, messageOf } from './errors.ts'

/**
 * Runs a program's `main`: prints the help when asked for, and turns an error into one line on standard error and
 * an exit code: 2 for a mistake in the configuration, 1 for everything else. Passwords never reach that line.
 */
export async function runProgram(name: string, help: string, main: () => Promise<void>): Promise<void> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    console.log(help)
    return
  }
  try {
    await main()
    process.exitCode ??= 0
  } catch (error) {
    console.error(`${name}: ${describeFailure(error)}`)
    process.exitCode = error instanceof ConfigError ? 2 : 1
  }
  // Whatever still holds the event loop (a socket that never answers) must not hold the program.
  setTimeout(() => process.exit(), 2000).unref()
}

/** One line that says what was wrong and what to do about it. */
export function describeFailure(error: unknown): string {
  const { code, address, port } = (error ?? {}) as { code?: unknown; address?: unknown; port?: unknown }
  const message = messageOf(error).split('\n')[0] ?? ''
  switch (code) {
    case 'EADDRINUSE':
      return `port ${String(port)} on ${String(address)} is in use: stop what listens there, or choose another port`
    case '28P01':
    case '28000':
      return `DATABASE_URL: ${message}: check the user and the password`
    case '3D000':
      return `DATABASE_URL: ${message}: create it, or name another`
    default:
      break
  }
  if (isConnectionRefusal(error)) return `DATABASE_URL: the database cannot be reached: ${message}`
  return message
}

function isConnectionRefusal(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionRefusal)
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  return (
    typeof code === 'string' &&
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT)$/.test(code) &&
    syscall !== 'listen'
  )
}

/** An orphan has nobody who would kill it when it hangs: it may take so long to leave. */
const ORPHAN_MS = 20_000

/**
 * Calls `stop` once when the program is asked to leave: by a signal, or because the process that started it is
 * gone. The same signal again ends it at once (another one may be the supervisor's, after a Ctrl-C that both got).
 */
export function onStopRequest(stop: (reason: string) => void, { orphanMs = ORPHAN_MS } = {}): void {
  const asked = new Set<string>()
  const request = (reason: string): void => {
    if (asked.has(reason)) process.exit(130)
    asked.add(reason)
    if (asked.size === 1) stop(reason)
  }
  process.on('SIGINT', () => request('SIGINT'))
  process.on('SIGTERM', () => request('SIGTERM'))
  const orphaned = (): void => {
    setTimeout(() => process.exit(1), orphanMs).unref()
    request('the supervisor is gone')
  }
  if (process.connected) process.on('disconnect', orphaned)
  // It was started by a supervisor, which went before this line was reached.
  else if (process.send !== undefined) setImmediate(orphaned)
  // Listening for its end must not keep a program alive that is done.
  process.channel?.unref()
}
