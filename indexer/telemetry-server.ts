import type { Server } from 'node:http'
import type { Registry } from '../shared/metrics.ts'
import type { Role } from '../shared/indexing-health.ts'
import type { NetworkHealth } from './network-state.ts'
import { serveTelemetry, type Readiness, type Telemetry } from './serve-telemetry.ts'

/** Health and metrics of an indexer. Rejects with the variable to set when the port cannot be had. */
export async function startTelemetry(
  address: { host: string; port: number },
  networks: NetworkHealth[],
  metrics: Registry,
  page?: Telemetry['page'],
): Promise<Server> {
  const readiness = (): Readiness => readinessOf(networks)
  return serveTelemetry(address, { metrics, readiness, portVariable: 'INDEXER_PORT', page })
}

function readinessOf(networks: NetworkHealth[]): Readiness {
  const isEachReady = networks.every((network) => network.roles.every((role) => isReady(network, role)))
  const payload = networks.map((health) => {
    const { network, state, problem, problemKind, workerHealthy, roles } = health
    const parts = roles.map((role) => [role, partOf(health, role)] as const)
    return { network, state, problem, problemKind, workerHealthy, ...Object.fromEntries(parts) }
  })
  return { isReady: isEachReady, payload }
}

function partOf(health: NetworkHealth, role: Role): { state: string; leader?: string | null } {
  const { state } = health.reportOf(role)
  return state === 'standby' ? { state, leader: health.leaders.get(role) ?? null } : { state }
}

/** A leader is ready while it follows without a problem; a standby while it could take over from a leader that it knows. */
function isReady(health: NetworkHealth, role: Role): boolean {
  const { state, problem } = health.reportOf(role)
  return problem === null && (state === 'following' || (state === 'standby' && health.leaders.has(role)))
}
