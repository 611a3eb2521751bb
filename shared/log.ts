import { pino, type Logger } from 'pino'
import { hideInJsonLine } from './secrets.ts'

export type { Logger }

/**
 * Creates the logger of one program. `level` is pino's ("silent" … "trace"); lines are JSON on standard output. A
 * program continues without logging if its log has no reader any more.
 */
export function createLogger(program: string, level: string): Logger {
  if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore)
  // Node's own stream: pino's waits forever if a line is left at the end and the reader is gone. The process would keep
  // the writer's lock.
  const hooks = { streamWrite: hideInJsonLine }
  return pino({ level, base: { program }, timestamp: pino.stdTimeFunctions.isoTime, hooks }, process.stdout)
}

function ignore(): void {
  // No output is left to report this error.
}

/**
 * An endpoint's name for logs, metrics and responses: scheme and host. Path, query and user part of an RPC URL can
 * contain tokens, so none of them is ever shown.
 */
export function endpointLabel(url: string): string {
  try {
    const { protocol, host } = new URL(url)
    return `${protocol}//${host}`
  } catch {
    return 'malformed URL'
  }
}
