// A receiver to try webhooks with: SECRET=whsec_… node docs/webhook-receiver.mjs. It prints each message once.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const key = Buffer.from((process.env.SECRET ?? '').replace('whsec_', ''), 'base64')
const seen = new Set()

const server = createServer(async (request, response) => {
  const {
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': signatures = '',
  } = request.headers
  const body = Buffer.concat(await request.toArray()).toString()
  const expected = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest()
  const isSigned = signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature.replace('v1,', ''), 'base64')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  if (!isSigned || Math.abs(Date.now() / 1000 - time) > 300) return response.writeHead(401).end()
  if (!seen.has(id)) console.log(id, body)
  seen.add(id)
  response.writeHead(204).end()
})
server.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () =>
  console.log(server.address().port, 'listens'),
)
