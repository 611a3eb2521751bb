import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { listenFailure } from '../shared/listen-failure.ts'
import type { NetworkHealth } from './network-state.ts'

/** `/healthz`, `/readyz` and `/metrics` of this process. Rejects with the variable to set when the port cannot be had. */
export async function startTelemetry(
  address: { host: string; port: number },
  networks: NetworkHealth[],
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(request, response)
    switch (request.url?.split('?')[0] ?? '') {
      case '/healthz':
        return sendJson(response, 200, { status: 'OK' })
      case '/readyz':
        return sendReadiness(response, networks)
      case '/metrics':
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' })
        return response.end(renderMetrics(networks))
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
  const ready = networks.every((network) => isReady(network))
  const payload = networks.map(({ network, state, problem, problemKind, workerHealthy, leader }) => ({
    ...{ network, state, problem, problemKind, workerHealthy },
    ...(state === 'standby' ? { leader } : {}),
  }))
  sendJson(response, ready ? 200 : 503, { status: ready ? 'OK' : 'ERROR', payload })
}

/** The leader is ready while it follows without a problem; a standby while it could take over from a leader that it knows. */
function isReady({ state, problem, leader }: NetworkHealth): boolean {
  return problem === null && (state === 'following' || (state === 'standby' && leader !== null))
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

type Gauge = [
  name: string,
  type: 'gauge' | 'counter',
  help: string,
  value: (network: NetworkHealth) => number | null,
]

const METRICS: Gauge[] = [
  ['head_block', 'gauge', 'Newest block to index.', (n) => n.head?.number ?? null],
  ['indexed_block', 'gauge', 'Last block that was written.', (n) => n.indexed?.number ?? null],
  [
    'finalized_block',
    'gauge',
    'Last block that can no longer be reorganized.',
    (n) => n.finalized?.number ?? null,
  ],
  ['queue_waiting', 'gauge', 'Steps between source and database.', (n) => n.queueWaiting],
  ['queue_failed', 'gauge', 'Steps that became dead letters.', (n) => n.queueFailed],
  [
    'following',
    'gauge',
    '1 while this process leads and follows the chain.',
    (n) => (n.state === 'following' ? 1 : 0),
  ],
  ['steps_total', 'counter', 'Steps written by this process.', (n) => n.counts.steps],
  ['events_total', 'counter', 'Events written by this process.', (n) => n.counts.events],
  ['undecodable_total', 'counter', 'Logs that did not decode.', (n) => n.counts.undecodable],
  ['reorgs_total', 'counter', 'Reorgs written by this process.', (n) => n.counts.reorgs],
  ['retries_total', 'counter', 'Writes that were tried again.', (n) => n.counts.retries],
  [
    'restarts_total',
    'counter',
    'Times the chain was read again from the position.',
    (n) => n.counts.restarts,
  ],
  [
    'refused_jobs_total',
    'counter',
    'Jobs in the queue of steps that this service did not make.',
    (n) => n.counts.refusedJobs,
  ],
  [
    'handed_in_accepted_total',
    'counter',
    'Vouchers and statements that became facts.',
    (n) => n.handedIn?.accepted ?? null,
  ],
  ['handed_in_known_total', 'counter', 'Those that were facts before.', (n) => n.handedIn?.known ?? null],
  [
    'handed_in_waiting_total',
    'counter',
    'Those that had to wait for their channel.',
    (n) => n.handedIn?.waiting ?? null,
  ],
  [
    'handed_in_refused_total',
    'counter',
    'Those that became dead letters.',
    (n) => n.handedIn?.refused ?? null,
  ],
  ['voucher_jobs_waiting', 'gauge', 'Jobs in the voucher queue.', (n) => n.handedIn?.queued ?? null],
]

function renderMetrics(networks: NetworkHealth[]): string {
  const lines = METRICS.flatMap(([name, type, help, value]) => {
    const samples = networks.flatMap((network) => {
      const number = value(network)
      return number === null ? [] : [`loan_activity_${name}{network="${network.network}"} ${number}`]
    })
    return [`# HELP loan_activity_${name} ${help}`, `# TYPE loan_activity_${name} ${type}`, ...samples]
  })
  const memory = `# HELP process_resident_memory_bytes Resident memory.\n# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes ${process.memoryUsage.rss()}`
  return `${lines.join('\n')}\n${memory}\n`
}
