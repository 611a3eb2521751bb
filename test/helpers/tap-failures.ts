/** Lines shown of one failure: its difference or its stack, not a page of source. */
const LINES_EACH = 40

/**
 * Returns the failed assertions of a TAP output, each as a text that begins with its path (`file > test > assertion`),
 * followed by its diagnosis. A test that failed only because of a failure inside it is not listed again.
 */
export function tapFailures(output: string): string[] {
  const open: { indent: number; name: string; failuresBefore: number }[] = []
  const failures: string[][] = []
  // The diagnosis being read, if any.
  let reading: { indent: number; lines: string[] } | undefined
  for (const line of output.split('\n')) {
    const indent = line.length - line.trimStart().length
    const text = line.trim()
    if (reading !== undefined) {
      if (indent <= reading.indent && text !== '' && text !== '---') reading = undefined
      else if (indent === reading.indent + 2 && text === '...') reading = undefined
      else if (text !== '---') reading.lines.push(line.slice(reading.indent))
      if (reading !== undefined) continue
    }
    const opened = /^# Subtest: (.*)$/.exec(text)?.[1]
    if (opened !== undefined) {
      // A test that ended without a result of its own, such as a file that timed out.
      while ((open.at(-1)?.indent ?? -1) >= indent) open.pop()
      open.push({ indent, name: opened, failuresBefore: failures.length })
      continue
    }
    const point = /^(not )?ok \d+(?: - (.*?))?(?: # time=.*)?$/.exec(text)
    if (point === null) continue
    // A subtest's own result has the indentation of its opening line.
    const subtest = open.at(-1)?.indent === indent ? open.pop() : undefined
    if (point[1] === undefined) continue
    if (subtest !== undefined && subtest.failuresBefore < failures.length) continue
    const lines = [[...open.map(({ name }) => name), point[2] ?? 'without a name'].join(' > ')]
    failures.push(lines)
    reading = { indent, lines }
  }
  return failures.map((lines) => lines.slice(0, LINES_EACH).join('\n').trimEnd())
}
