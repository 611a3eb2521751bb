import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { RULES_FILE } from './alert-rules.ts'
import { freePort } from './free-port.ts'

/** A real Prometheus with our alerts, in seconds where they have minutes. */
export interface Prometheus {
  /** Waits until exactly these alerts fire; returns those that fired on the way and are none of them. */
  until: (alerts: string[], withinMs?: number) => Promise<string[]>
}

/** `jobs`: the hosts and ports of each job. */
export async function startPrometheus(t: Test, jobs: Record<string, string[]>): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-prometheus-'))
  const port = await freePort()
  const rules = readFileSync(RULES_FILE, 'utf8')
    .replaceAll(/\bfor: \d+m/g, 'for: 3s')
    .replaceAll(/\[\d+m\]/g, '[15s]')
    .replaceAll(/\boffset \d+m/g, 'offset 15s')
    .replaceAll(/([<>]=?) (?:30|120|3600)\b/g, '$1 5')
  await writeFile(join(folder, 'rules.yml'), rules)
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: Object.entries(jobs).map(([name, targets]) => ({
      job_name: name,
      static_configs: [{ targets }],
    })),
  }
  // Prometheus reads YAML, of which JSON is a part.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    await rm(folder, { recursive: true, force: true })
  })

  async function ask<T>(path: string): Promise<T | undefined> {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => undefined)
    return response?.ok === true ? ((await response.json()) as { data: T }).data : undefined
  }
  const firing = async (): Promise<string[]> => {
    const found = await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>('alerts')
    const names = (found?.alerts ?? []).flatMap(({ state, labels }) =>
      state === 'firing' ? labels.alertname : [],
    )
    return [...new Set(names)].sort()
  }
  const until = async (alerts: string[], withinMs = 90_000): Promise<string[]> => {
    const others = new Set<string>()
    const beganMs = performance.now()
    while (performance.now() - beganMs < withinMs) {
      const now = await firing()
      for (const name of now) if (!alerts.includes(name)) others.add(name)
      if (now.join() === alerts.join()) return [...others]
      await delay(250)
    }
    throw new Error(`${alerts.join() || 'no alert'} expected, ${(await firing()).join() || 'none'} fires`)
  }
  const isUp = async (): Promise<boolean> => {
    const found = await ask<{ result: { value: [number, string] }[] }>('query?query=sum(up)')
    return Number(found?.result[0]?.value[1]) === Object.values(jobs).flat().length
  }
  const beganMs = performance.now()
  while (!(await isUp())) {
    if (performance.now() - beganMs > 60_000) throw new Error('Prometheus does not reach the programs')
    await delay(250)
  }
  // Before the first scrape no program was there.
  await until([])
  return { until }
}
