import type { Client } from './generated/client/index.js'

/**
 * Lets no later answer of this client be older than an earlier one: each request names the highest `X-Position` seen.
 * An API whose database is behind waits for up to two seconds, else answers 503 with `Retry-After`.
 */
export function neverGoBack(client: Client): void {
  let position = 0
  client.interceptors.request.use((request) => {
    if (position > 0) request.headers.set('X-Min-Position', String(position))
    return request
  })
  client.interceptors.response.use((response) => {
    position = Math.max(position, Number(response.headers.get('X-Position')))
    return response
  })
}
