import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook as Verifier } from 'standardwebhooks'
import type { Test } from 'tap'

/** 24 bytes, the least that the specification allows. */
export const SECRET = `whsec_${Buffer.from('a secret of the receiver').toString('base64')}`

export interface Received {
  id: string
  text: string
  body: { type: string; timestamp: string; data: Record<string, unknown> }
}

/** A status, perhaps with `Retry-After`; nothing at all; or 200 with a body that does not end. */
type Answer = number | { status: number; retryAfter: string } | 'nothing' | 'endless'

export interface Receiver {
  url: string
  received: Received[]
  /** Connections that are open. */
  connections: () => Promise<number>
}

/** A receiver that verifies each message with the specification's own library. A wrong one fails the test. */
export async function webhookReceiver(
  t: Test,
  answer: (message: Received, before: number) => Answer = () => 200,
): Promise<Receiver> {
  const received: Received[] = []
  const verifier = new Verifier(SECRET)
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      try {
        verifier.verify(body, request.headers as Record<string, string>)
      } catch (error) {
        t.fail(`${String(error)}: ${JSON.stringify(request.headers)}`)
      }
      const id = String(request.headers['webhook-id'])
      const message: Received = { id, text: body, body: JSON.parse(body) as Received['body'] }
      const before = received.filter((one) => one.id === id).length
      received.push(message)
      reply(response, answer(message, before))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
      }),
  }
}

function reply(response: ServerResponse, answer: Answer): void {
  if (answer === 'nothing') return
  if (typeof answer === 'object')
    return void response.writeHead(answer.status, { 'retry-after': answer.retryAfter }).end()
  response.writeHead(answer === 'endless' ? 200 : answer, { location: '/elsewhere' })
  if (answer !== 'endless') return void response.end()
  const write = (): void => {
    while (!response.destroyed && response.write('x'.repeat(16_384)));
  }
  response.on('drain', write)
  write()
}

export function idsOf(received: readonly { id: string }[]): string[] {
  return [...new Set(received.map(({ id }) => id))].sort()
}
