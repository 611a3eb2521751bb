import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ServerResponse } from 'node:http'
import { packageVersion } from './version.ts'

export type { Registry }

export type Labels = Record<string, string>
/** A value with its labels. */
export type Sample = readonly [labels: Labels, value: number]
/** The samples of a metric when it is read. */
export type Read = () => Sample[] | Promise<Sample[]>

/** What names a metric. Names begin with `loan_activity_`, which is added. */
interface Naming {
  name: string
  help: string
  labels?: readonly string[]
}

/** Gauges of prom-client whose names end as a counter's, which `promtool check metrics` refuses. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** The metrics of one program: its version, its process, and those added by {@link gauge}, {@link counter}, {@link histogram}. */
export function createRegistry(program: string): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const labels = { program, version: packageVersion(), node: process.version }
  gauge(
    registry,
    {
      name: 'build_info',
      help: 'Always 1; its labels name the build.',
      labels: ['program', 'version', 'node'],
    },
    () => [[labels, 1]],
  )
  return registry
}

/** Adds a gauge whose samples are read at each scrape; a sample that is gone leaves no value behind. */
export function gauge(registry: Registry, { name, help, labels = [] }: Naming, read: Read): void {
  new Gauge({
    ...{ name: `loan_activity_${name}`, help, labelNames: [...labels], registers: [registry] },
    async collect() {
      const samples = await read()
      this.reset()
      // A reset metric without labels is 0, which would be a value.
      if (labels.length === 0) this.remove()
      for (const [own, value] of samples) this.set(own, value)
    },
  })
}

/** Adds a counter whose total the service keeps elsewhere. */
export function readCounter(
  registry: Registry,
  { name, help, labels = [] }: Naming,
  read: () => Sample[],
): void {
  new Counter({
    ...{ name: `loan_activity_${name}`, help, labelNames: [...labels], registers: [registry] },
    collect() {
      this.reset()
      for (const [own, value] of read()) this.inc(own, value)
    },
  })
}

export function counter(registry: Registry, { name, help, labels = [] }: Naming): Counter {
  return new Counter({ name: `loan_activity_${name}`, help, labelNames: labels, registers: [registry] })
}

export function histogram(
  registry: Registry,
  { name, help, labels = [], buckets }: Naming & { buckets: number[] },
): Histogram {
  return new Histogram({
    ...{ name: `loan_activity_${name}`, help, labelNames: labels, buckets, registers: [registry] },
  })
}

/** Answers a scrape. */
export async function sendMetrics(response: ServerResponse, registry: Registry): Promise<void> {
  const text = await registry.metrics()
  response.writeHead(200, { 'content-type': registry.contentType })
  response.end(text)
}
