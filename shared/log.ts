import { pino, type Logger } from 'pino'
import { hideInJsonLine } from './secrets.ts'

export type { Logger }

/**
 * A logger of one program. `level` is pino's ("silent" … "trace"); lines are JSON on standard output. A program whose
 * log nobody reads any more goes on, and says nothing.
 */
export function createLogger(program: string, level: string): Logger {
  if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore)
  // Node's own stream: pino's waits for ever when it has a line left at the end and the reader is gone, with the
  // writer's lock in its hands.
  const hooks = { streamWrite: hideInJsonLine }
  return pino({ level, base: { program }, timestamp: pino.stdTimeFunctions.isoTime, hooks }, process.stdout)
}

function ignore(): void {
  // There is nowhere left to say it.
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
