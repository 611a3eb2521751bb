import { createApiMetrics } from '../../api/plugins/metrics.ts'
import type { ReadDatabase } from '../../api/queries/read-database.ts'
import { addMeters, type Meters } from '../../indexer/meters.ts'
import { addIndexerMetrics } from '../../indexer/metrics.ts'
import { addIntakeMetrics } from '../../indexer/intake/metrics.ts'
import { addWebhookMetrics } from '../../indexer/webhooks/metrics.ts'
import type { NetworkHealth } from '../../indexer/network-state.ts'
import { createRegistry, type Registry } from '../../shared/metrics.ts'

/** The indexer's metrics as its program adds them, for networks whose database is away. */
export function indexerMetrics(networks: readonly NetworkHealth[]): { registry: Registry; meters: Meters } {
  const registry = createRegistry('indexer')
  const meters = addMeters(registry)
  addIndexerMetrics(registry, {
    networks,
    readFigures: () => Promise.reject(new Error('away')),
    countDeadLetters: () => Promise.reject(new Error('away')),
    queue: { isRedis: true, isUp: () => true },
  })
  return { registry, meters }
}

export interface KnownMetric {
  name: string
  help: string
  type: string
  labels: string[]
  programs: string[]
}

/** All metrics that the programs export, by name. */
export function knownMetrics(): Map<string, KnownMetric> {
  const away = { rows: () => Promise.reject(new Error('away')) } as unknown as ReadDatabase
  const webhooks = createRegistry('webhooks')
  addWebhookMetrics(webhooks, [], () => Promise.reject(new Error('away')))
  const intake = createRegistry('intake')
  addIntakeMetrics(intake, () => Promise.reject(new Error('away')))
  const registries = {
    indexer: indexerMetrics([]).registry,
    API: createApiMetrics(away).registry,
    webhooks,
    intake,
  }
  const known = new Map<string, KnownMetric>()
  for (const [program, registry] of Object.entries(registries)) {
    for (const metric of registry.getMetricsAsArray()) {
      const { name, help } = metric
      const before = known.get(name)
      if (before !== undefined) before.programs.push(program)
      else {
        // prom-client's types leave out the labels of a metric.
        const { labelNames } = metric as unknown as { labelNames: string[] }
        known.set(name, { name, help, type: typeOf(metric), labels: labelNames, programs: [program] })
      }
    }
  }
  return known
}

function typeOf(metric: object): string {
  return metric.constructor.name.toLowerCase()
}
