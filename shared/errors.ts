/**
 * A retry can help. The class decides this, not a guess from the message. Messages carry what was wrong (network,
 * height, hash) and never a token.
 */
export class RetryableError extends Error {
  override name = 'RetryableError'
}

/** A retry cannot help: the job becomes a dead letter, the network stops with this message. */
export class PermanentError extends Error {
  override name = 'PermanentError'
}

/** The operator's configuration is wrong: one line, exit code 2. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(messageOf).join('; ')
  }
  // An error of `fetch` has its reason only in its cause.
  if (error instanceof TypeError && error.message === 'fetch failed' && error.cause !== undefined) {
    return `fetch failed: ${messageOf(error.cause)}`
  }
  return error instanceof Error ? error.message : String(error)
}
