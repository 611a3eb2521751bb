import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { listenFailure } from '../shared/listen-failure.ts'
import { sendMetrics, type Registry } from '../shared/metrics.ts'
import type { Role } from '../shared/indexing-health.ts'
import type { NetworkHealth } from './network-state.ts'

/** `/healthz`, `/readyz` and `/metrics` of this process. Rejects with the variable to set when the port cannot be had. */
export async function startTelemetry(
  address: { host: string; port: number },
  networks: NetworkHealth[],
  metrics: Registry,
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(request, response)
    switch (request.url?.split('?')[0] ?? '') {
      case '/healthz':
        return sendJson(response, 200, { status: 'OK' })
      case '/readyz':
        return sendReadiness(response, networks)
      case '/metrics':
        return void sendMetrics(response, metrics)
      default:
        return sendJson(response, 404, { status: 'ERROR', message: 'try /healthz, /readyz or /metrics' })
    }
  })
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: Error): void =>
      reject(listenFailure({ host: 'INDEXER_HOST', port: 'INDEXER_PORT' }, address, error))
    server.once('error', refuse)
    server.listen(address.port, address.host, () => {
      server.off('error', refuse)
      resolve()
    })
  })
  return server
}

function refuseMethod({ method }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('allow', 'GET, HEAD')
  sendJson(response, 405, {
    status: 'ERROR',
    message: `${method ?? ''} is not allowed here: read it with GET`,
  })
}

function sendReadiness(response: ServerResponse, networks: NetworkHealth[]): void {
  const ready = networks.every((network) => network.roles.every((role) => isReady(network, role)))
  const payload = networks.map((health) => {
    const { network, state, problem, problemKind, workerHealthy, roles } = health
    const parts = roles.map((role) => [role, partOf(health, role)] as const)
    return { network, state, problem, problemKind, workerHealthy, ...Object.fromEntries(parts) }
  })
  sendJson(response, ready ? 200 : 503, { status: ready ? 'OK' : 'ERROR', payload })
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

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}
