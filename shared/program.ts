import { ConfigError, messageOf } from './errors.ts'
import { hideSecrets } from './secrets.ts'
import { onStopSignals } from './stop-signals.ts'

/**
 * Runs a program's `main`, or prints the help if asked for. An error becomes one line on standard error and an exit
 * code: 2 for a mistake in the configuration, 1 for everything else. Passwords never reach that line.
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
    // Not by the console, which may lead to the log.
    process.stderr.write(hideSecrets(`${name}: ${describeFailure(error)}\n`))
    process.exitCode = error instanceof ConfigError ? 2 : 1
  }
  // A handle that still holds the event loop (a socket that never answers) must not hold the program.
  setTimeout(() => process.exit(), 2000).unref()
}

const OVER_TLS =
  '?sslmode=verify-full&sslrootcert=FILE, a file with the certificate of whoever signed the server’s'
/** The names that OpenSSL and Node give to certificates they refuse. */
const UNKNOWN_CERTIFICATE = /SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET)_|^CERT_|^ERR_TLS_CERT_ALTNAME_INVALID$/

/** One line that states the error and its remedy. `variable` is the name of the variable with the database's URL. */
export function describeFailure(error: unknown, variable = 'DATABASE_URL'): string {
  const { code, address, port } = (error ?? {}) as { code?: unknown; address?: unknown; port?: unknown }
  const message = messageOf(error).split('\n')[0] ?? ''
  switch (code) {
    case 'EADDRINUSE':
      return `port ${String(port)} on ${String(address)} is in use: stop what listens there, or choose another port`
    case '28000':
      // Only the end of the message identifies this case.
      if (message.endsWith('no encryption')) return `${variable}: ${message}: add ${OVER_TLS}`
      return `${variable}: ${message}: check the user and the password`
    case '28P01':
      return `${variable}: ${message}: check the user and the password`
    case '53300':
      return `${variable}: ${message}: raise the limit, or end other sessions`
    case '42501':
      return `${variable}: ${message}: use the role of this program, or run \`ops roles\` as the owner`
    case '3D000':
      return `${variable}: ${message}: create it, or name another`
    default:
      break
  }
  if (typeof code === 'string' && UNKNOWN_CERTIFICATE.test(code)) {
    return `${variable}: the server’s certificate is not trusted: ${message}: add ${OVER_TLS}`
  }
  if (isConnectionRefusal(error)) return `${variable}: the database cannot be reached: ${message}`
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

/** The time that a program has for an orderly end once its parent is gone. */
const ORPHAN_STOPS_WITHIN_MS = 10_000

/**
 * Calls `stop` once when the program is asked to leave: by a signal, or because its parent process is gone. The same
 * signal again ends the program at once.
 */
export function onStopRequest(stop: (reason: string) => void): void {
  const request = onStopSignals(['SIGINT', 'SIGTERM'], stop, () => process.exit(130))
  const orphaned = (): void => {
    request('the supervisor is gone')
    // The database that a clean end waits for may be gone too, and no one is left to signal again.
    setTimeout(() => process.exit(1), ORPHAN_STOPS_WITHIN_MS).unref()
  }
  if (process.connected) process.on('disconnect', orphaned)
  // The parent died while this program was loading, so no event will report it.
  else if (process.send !== undefined) setImmediate(orphaned)
  // Listening for the parent's end must not keep a finished program alive.
  process.channel?.unref()
}
