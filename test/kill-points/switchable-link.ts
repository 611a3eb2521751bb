import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A node's address that can lead to another node. */
export interface SwitchableLink {
  url: string
  /** Takes effect with the next request. */
  switchTo(target: string): void
  stop(): void
}

/**
 * `pinned` decides by a request's body whether it always goes to the node `pinTo`. It serves data of the node itself
 * and not of a chain.
 */
export async function switchableLink(
  target: string,
  pin: { to: string; pinned: (body: string) => boolean } | null = null,
): Promise<SwitchableLink> {
  let current = target
  const server = createServer((incoming, response) => {
    readAll(incoming).then(
      (body) => forward(pin?.pinned(body) === true ? pin.to : current, incoming, body, response),
      () => response.destroy(),
    )
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    switchTo: (next) => void (current = next),
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function forward(target: string, incoming: IncomingMessage, body: string, response: ServerResponse): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const outgoing = request(target, { method: incoming.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' })
    answer.pipe(response)
  })
  outgoing.on('error', () => response.destroy())
  outgoing.end(body)
}
