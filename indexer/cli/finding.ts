export type Verdict = 'ok' | 'warning' | 'failed'

/** One line of `ops doctor`. */
export interface Finding {
  /** The part that was looked at, such as `database` or `evm:1 endpoint 2`. */
  part: string
  verdict: Verdict
  message: string
}

const WIDTH = 80
const MARKS: Record<Verdict, string> = { ok: 'ok', warning: 'WARN', failed: 'FAIL' }

/** (pure) The finding as text within 80 columns. */
export function findingText({ part, verdict, message }: Finding): string {
  const lines: string[] = []
  let line = `${MARKS[verdict].padEnd(5)}${part}:`
  for (const word of message.split(' ')) {
    if (line.length + 1 + word.length <= WIDTH) line += ` ${word}`
    else {
      lines.push(line)
      line = `     ${word}`
    }
  }
  return [...lines, line].join('\n')
}
