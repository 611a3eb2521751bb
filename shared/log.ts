import { pino, type Logger } from 'pino'

export type { Logger }

/** A logger of one program. `level` is pino's ("silent" … "trace"); lines are JSON on standard output. */
export function createLogger(program: string, level: string): Logger {
  return pino({ level, base: { program }, timestamp: pino.stdTimeFunctions.isoTime })
}

/**
 * An endpoint's name for logs, metrics and answers: scheme and host. Tokens travel in the path, in the query
 * and in the user part of an RPC URL, so none of these is ever shown.
 */
export function endpointLabel(url: string): string {
  try {
    const { protocol, host } = new URL(url)
    return `${protocol}//${host}`
  } catch {
    return 'malformed URL'
  }
}
