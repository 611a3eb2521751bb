import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { LogFile } from './log-file.ts'

const logLineSchema = z.object({
  level: z.number(),
  msg: z.string().optional(),
  network: z.string().optional(),
  error: z.string().optional(),
})

const WARN = 40
const ERROR = 50

/** Writes every line of the children to DATA_DIR/logs/<name>.log and shows the user the important ones. */
export class ChildOutput {
  readonly #folder: string
  readonly #tell: (text: string) => void
  readonly #files = new Map<string, LogFile>()

  constructor(dataDir: string, tell: (text: string) => void) {
    this.#folder = join(dataDir, 'logs')
    this.#tell = tell
    mkdirSync(this.#folder, { recursive: true })
  }

  /** Standard error of a child that was never ready holds its last words. The supervisor ends with one line of them. */
  line(name: string, line: string, stream: 'out' | 'error', wasReady: boolean): void {
    this.#file(name).write(line)
    const shown = stream === 'out' ? warningOf(line) : wasReady ? line : undefined
    if (shown !== undefined) this.#tell(shown.startsWith(`${name}: `) ? shown : `${name}: ${shown}`)
  }

  /** Path of this child's log. */
  fileOf(name: string): string {
    return join(this.#folder, `${name}.log`)
  }

  #file(name: string): LogFile {
    const open = this.#files.get(name) ?? new LogFile(this.fileOf(name))
    this.#files.set(name, open)
    return open
  }
}

/** Returns the text of a pino line of level warn or above. */
function warningOf(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const { level, msg, network, error } = logLineSchema.parse(JSON.parse(line))
    if (level < WARN) return undefined
    const severity = level >= ERROR ? 'error' : 'warning'
    const details = [network, msg, error].filter((part) => part !== undefined && part !== '')
    return `${severity}: ${details.join(': ')}`
  } catch {
    return undefined
  }
}
