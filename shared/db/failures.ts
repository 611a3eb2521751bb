import { ReadOnlySession } from './session.ts'

/**
 * SQLSTATEs: a connection failed, the server stops or starts, a session idled too long, or it is read-only. 08P01 has its
 * own rule.
 */
const LOST_SESSION = /^(08(?!P01)|57P|25P03|25006)/
/**
 * Further SQLSTATEs: a resource is exhausted, a serialization failure, a deadlock, a lock timeout, a cancelled
 * statement, a failing disk.
 */
const RETRYABLE = /^(53|40001|40P01|55P03|57014|58)/
const NETWORK = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/
/** A statement of the wrong form; with the severity FATAL it is the error with which PgBouncer ends a session. */
const WRONG_FORM = '08P01'
/** node-postgres gives these errors no code. */
const NO_CONNECTION =
  /Connection terminated|timeout exceeded when trying to connect|Client (has encountered a connection error|was closed)/

/** Whether no later statement can succeed in the session of this error: it must not be used again. */
export function losesSession(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = sqlState(error)
  if (code === WRONG_FORM) return 'severity' in error && error.severity === 'FATAL'
  return code === undefined
    ? NO_CONNECTION.test(error.message)
    : LOST_SESSION.test(code) || NETWORK.test(code)
}

/**
 * Whether a retry may succeed: the database is away, restarting, a standby, full, or chose this transaction as a
 * deadlock's victim.
 */
export function isDatabaseRetryable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isDatabaseRetryable)
  if (losesSession(error) || error instanceof ReadOnlySession) return true
  const code = sqlState(error)
  return code !== undefined && RETRYABLE.test(code)
}

/** A SQLSTATE, or the code of a failed system call. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
