import type { ChainStep } from '../shared/events/chain-step.ts'
import { counter, gauge, histogram, type Registry, type Sample } from '../shared/metrics.ts'
import { REQUEST_FAILURES, type EndpointWatch } from './sources/rpc/endpoint-watch.ts'
import type { StepMeter } from './step-meter.ts'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const STEP_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000]
/** Filecoin's finality is 900 epochs. */
const DEPTHS = [1, 2, 3, 5, 8, 13, 21, 34, 64, 128, 900]
const CALLS = [1, 2, 5, 10, 25, 50, 100]

/** The histograms and counters that the indexer's parts observe themselves. */
export interface Meters {
  stepMeterOf: (network: string) => StepMeter
  endpointWatchOf: (network: string, endpoints: number) => EndpointWatch
}

export function addMeters(registry: Registry): Meters {
  return { stepMeterOf: stepMeters(registry), endpointWatchOf: endpointWatches(registry) }
}

function stepMeters(registry: Registry): Meters['stepMeterOf'] {
  const stages = histogram(registry, {
    name: 'stage_duration_seconds',
    help: 'Time of a stage: read (a range from the chain), queue (a step from the queue’s taking it until it is written), write (a transaction).',
    labels: ['network', 'stage'],
    buckets: SECONDS,
  })
  const blocks = histogram(registry, {
    name: 'range_blocks',
    help: 'Blocks of a range that was read.',
    labels: ['network'],
    buckets: STEP_SIZES,
  })
  const events = histogram(registry, {
    name: 'step_events',
    help: 'Events of a step that was written.',
    labels: ['network'],
    buckets: [0, ...STEP_SIZES],
  })
  const depths = histogram(registry, {
    name: 'reorg_depth_blocks',
    help: 'Blocks that a reorg replaced.',
    labels: ['network'],
    buckets: DEPTHS,
  })
  return (network) => ({
    onRead: (count, ms) => {
      stages.observe({ network, stage: 'read' }, ms / 1000)
      blocks.observe({ network }, count)
    },
    onQueued: (ms) => stages.observe({ network, stage: 'queue' }, ms / 1000),
    onWritten: (step: ChainStep, ms) => {
      stages.observe({ network, stage: 'write' }, ms / 1000)
      if (step.type === 'finalized') return
      events.observe({ network }, step.events.length)
      if (step.type === 'reorg') depths.observe({ network }, step.replaces.number - step.ancestor.number)
    },
  })
}

function endpointWatches(registry: Registry): Meters['endpointWatchOf'] {
  const labels = ['network', 'endpoint'] as const
  const requests = counter(registry, {
    ...{
      name: 'rpc_requests_total',
      help: 'HTTP requests to an endpoint, named by its place in the list.',
      labels,
    },
  })
  const errors = counter(registry, {
    name: 'rpc_errors_total',
    help: 'HTTP requests to an endpoint that failed, by reason.',
    labels: [...labels, 'reason'],
  })
  const durations = histogram(registry, {
    ...{
      name: 'rpc_duration_seconds',
      help: 'Time of an HTTP request to an endpoint.',
      labels,
      buckets: SECONDS,
    },
  })
  const calls = histogram(registry, {
    ...{ name: 'rpc_batch_calls', help: 'Calls of an HTTP request to an endpoint.', labels, buckets: CALLS },
  })
  const disagreements = counter(registry, {
    name: 'rpc_disagreements_total',
    help: 'Answers of an endpoint that cannot be true or contradict another endpoint.',
    labels,
  })
  const asideUntil: { labels: Record<string, string>; untilMs: number }[] = []
  gauge(
    registry,
    { name: 'rpc_put_aside', help: '1 while an endpoint is asked for nothing, after failures.', labels },
    () => asideUntil.map((one): Sample => [one.labels, Number(one.untilMs > performance.now())]),
  )
  return (network, endpoints) => {
    const places = Array.from({ length: endpoints }, (_, index) => {
      const own = { network, endpoint: String(index + 1) }
      // A series that begins at its first failure would hide that failure from increase().
      requests.inc(own, 0)
      disagreements.inc(own, 0)
      for (const reason of REQUEST_FAILURES) errors.inc({ ...own, reason }, 0)
      const aside = { labels: own, untilMs: 0 }
      asideUntil.push(aside)
      return aside
    })
    return {
      onRequest: (place, count, ms, reason) => {
        const own = places[place - 1]?.labels ?? {}
        requests.inc(own)
        durations.observe(own, ms / 1000)
        calls.observe(own, count)
        if (reason !== null) errors.inc({ ...own, reason })
      },
      onDisagreement: (place) => disagreements.inc(places[place - 1]?.labels ?? {}),
      onAside: (place, untilMs) => {
        const aside = places[place - 1]
        if (aside !== undefined) aside.untilMs = untilMs
      },
    }
  }
}
