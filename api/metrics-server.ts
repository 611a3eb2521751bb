import { createServer, type Server } from 'node:http'
import { listenFailure } from '../shared/listen-failure.ts'
import { sendMetrics, type Registry } from '../shared/metrics.ts'

/**
 * Serves `/metrics` on a port of its own, so that the public one has nothing for operators. Rejects with the variable
 * to set when the port cannot be had.
 */
export async function startMetricsServer(
  address: { host: string; port: number },
  registry: Registry,
): Promise<Server> {
  const server = createServer((request, response) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead && request.url?.split('?')[0] === '/metrics') return void sendMetrics(response, registry)
    response.writeHead(isRead ? 404 : 405, { 'content-type': 'application/json; charset=utf-8' })
    response.end(JSON.stringify({ status: 'ERROR', message: 'read /metrics with GET' }))
  })
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: Error): void =>
      reject(listenFailure({ host: 'API_HOST', port: 'API_METRICS_PORT' }, address, error))
    server.once('error', refuse)
    server.listen(address.port, address.host, () => {
      server.off('error', refuse)
      resolve()
    })
  })
  return server
}
