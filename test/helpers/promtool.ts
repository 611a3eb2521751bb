import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'

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

/** False without Prometheus and its promtool on this machine: the test then reports that and ends; in CI it fails. */
export function hasPrometheus(t: Test): boolean {
  if (spawnSync('promtool', ['--version']).status === 0) return true
  const reason = 'promtool is not installed: `apt-get install prometheus`'
  if (process.env['CI'] === 'true') t.fail(reason)
  else t.comment(`skipped: ${reason}`)
  return false
}
