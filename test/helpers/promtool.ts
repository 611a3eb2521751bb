import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs promtool (Debian package prometheus) with this input. Returns its exit code and all that it printed. */
export async function promtool(args: string[], input = ''): Promise<{ code: number | null; output: string }> {
  const child = spawn('promtool', args, { stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
