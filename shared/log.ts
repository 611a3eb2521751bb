import { format } from 'node:util'
import { LRUCache } from 'lru-cache'
import { pino, type Logger } from 'pino'
import { Repeats } from './repeats.ts'
import { hideInJsonLine } from './secrets.ts'

export type { Logger }

/** Texts of libraries whose repeated lines are summed up at the same time. */
const MOST_SUMMED = 200

/**
 * Creates the logger of one program. `level` is pino's ("silent" … "trace"); lines are JSON on standard output, with the
 * level as a word. A program continues without logging if its log has no reader any more.
 */
export function createLogger(program: string, level: string): Logger {
  if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore)
  // Node's own stream: pino's waits forever if a line is left at the end and the reader is gone. The process would keep
  // the writer's lock.
  const hooks = { streamWrite: hideInJsonLine }
  const formatters = { level: (label: string) => ({ level: label }) }
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level, base: { program }, timestamp, hooks, formatters }, process.stdout)
}

/**
 * Sends to the log what libraries print themselves, such as BullMQ and Node, so that all lines of a program have one
 * form. Lines that differ in their numbers only are summed up.
 */
export function logConsole(log: Logger): void {
  const own = log.child({ source: 'console' })
  const summed = new LRUCache<string, Repeats>({ max: MOST_SUMMED })
  const lines =
    (level: 'info' | 'warn' | 'error') =>
    (...values: unknown[]): void => {
      const text = format(...values)
      const key = `${level} ${text.replaceAll(/\d+/g, '0')}`
      const repeats = summed.get(key) ?? new Repeats({ write: (line) => own[level](line) })
      summed.set(key, repeats)
      repeats.note(text)
    }
  const [info, warn, error] = [lines('info'), lines('warn'), lines('error')]
  Object.assign(console, { log: info, info, debug: info, warn, error, trace: error })
  // Node prints warnings by a listener of its own.
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => warn(`${name}: ${message}`))
  process.on('exit', () => {
    for (const repeats of summed.values()) repeats.flush()
  })
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
