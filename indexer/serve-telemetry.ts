import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { listenFailure } from '../shared/listen-failure.ts'
import { sendMetrics, type Registry } from '../shared/metrics.ts'

export interface Readiness {
  isReady: boolean
  payload: unknown
}

export interface Telemetry {
  metrics: Registry
  readiness: () => Readiness | Promise<Readiness>
  /** The variable that has the port, for the error when it cannot be had. */
  portVariable: string
  /** Answers the requests below a path; undefined where that is switched off. */
  page?: { path: string; handle: RequestListener } | undefined
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics` of this process. Rejects with the variable to set
 * when the port cannot be had.
 */
export async function serveTelemetry(
  address: { host: string; port: number },
  { metrics, readiness, portVariable, page }: Telemetry,
): Promise<Server> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0] ?? ''
    if (page !== undefined && `${path}/`.startsWith(`${page.path}/`)) return page.handle(request, response)
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(request, response)
    switch (path) {
      case '/healthz':
        return sendJson(response, 200, { status: 'OK' })
      case '/readyz':
        return void sendReadiness(response, readiness)
      case '/metrics':
        return void sendMetrics(response, metrics)
      default:
        return sendJson(response, 404, { status: 'ERROR', message: 'try /healthz, /readyz or /metrics' })
    }
  })
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: Error): void =>
      reject(listenFailure({ host: 'INDEXER_HOST', port: portVariable }, address, error))
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

async function sendReadiness(response: ServerResponse, read: Telemetry['readiness']): Promise<void> {
  const { isReady, payload } = await read()
  sendJson(response, isReady ? 200 : 503, { status: isReady ? 'OK' : 'ERROR', payload })
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}
