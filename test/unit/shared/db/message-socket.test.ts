import fc from 'fast-check'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { messageSocket } from '../../../../shared/db/message-socket.ts'

const HEADER_BYTES = 5
const LATER_PART_BYTES = 150_000

/** A message of that kind that says so many bytes, no two neighbours the same. */
function message(kind: number, length: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + length)
  bytes.writeUInt8(kind)
  bytes.writeUInt32BE(HEADER_BYTES - 1 + length, 1)
  for (let at = HEADER_BYTES; at < bytes.length; at += 1) bytes[at] = (at * 7 + kind) % 251
  return bytes
}

interface Pair {
  server: Socket
  client: Socket
  /** What each `data` said, kept as it was then. */
  heard: Buffer[]
}

async function listening(t: Test): Promise<Server> {
  const server = createServer({ noDelay: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return server
}

async function pair(listener: Server): Promise<Pair> {
  const accepted = once(listener, 'connection') as Promise<[Socket]>
  const client = messageSocket()
  const heard: Buffer[] = []
  client.on('data', (bytes: Buffer) => heard.push(Buffer.from(bytes)))
  client.connect((listener.address() as AddressInfo).port, '127.0.0.1')
  const [server] = await accepted
  return { server, client, heard }
}

/** Throws where the bytes are not whole messages. */
function messagesIn(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const next = at + 1 + bytes.readUInt32BE(at + 1)
    if (next > bytes.length) throw new Error(`${next - bytes.length} bytes of a message are missing`)
    messages.push(bytes.subarray(at, next))
    at = next
  }
  return messages
}

void t.test('all messages come, each whole, however they are cut on their way', async (t) => {
  const listener = await listening(t)
  const lengths = fc.oneof(
    fc.nat(40),
    fc.nat(3_000),
    fc.constantFrom(65_530, 65_531, 65_532, 131_067, 300_000),
  )
  const messages = fc.array(fc.tuple(fc.nat(255), lengths), { minLength: 1, maxLength: 60, size: 'max' })
  const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 200_000 })), {
    maxLength: 20,
    size: 'max',
  })
  await fc.assert(
    fc.asyncProperty(messages, cuts, async (told, sizes) => {
      const sent = Buffer.concat(told.map(([kind, length]) => message(kind, length)))
      const { server, client, heard } = await pair(listener)
      const ended = once(client, 'end')
      for (let at = 0, cut = 0; at < sent.length; cut += 1) {
        const size = sizes[cut] ?? LATER_PART_BYTES
        const part = sent.subarray(at, at + size)
        at += size
        if (!server.write(part)) await once(server, 'drain')
        // Each of the first parts is read by itself.
        else if (cut < sizes.length) await new Promise((resolve) => setImmediate(resolve))
      }
      server.end()
      await ended
      client.destroy()
      const whole = heard.flatMap(messagesIn)
      return whole.length === told.length && Buffer.concat(heard).equals(sent)
    }),
    { numRuns: 60 },
  )
})

void t.test('what is no whole message at the end is not told', async (t) => {
  const { server, client, heard } = await pair(await listening(t))
  const ended = once(client, 'end')
  server.end(Buffer.concat([message(1, 10), message(2, 10).subarray(0, 8)]))
  await ended
  client.destroy()
  t.same(heard, [message(1, 10)])
})

void t.test('nothing is read while it is paused', async (t) => {
  const { server, client, heard } = await pair(await listening(t))
  server.write(message(1, 10))
  await once(client, 'data')
  client.pause()
  server.write(message(2, 10))
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.equal(heard.length, 1)
  client.resume()
  await once(client, 'data')
  t.same(heard, [message(1, 10), message(2, 10)])
  client.destroy()
  server.destroy()
})

void t.test('whoever listens may pause it, and end it', async (t) => {
  const listener = await listening(t)
  const { server, client, heard } = await pair(listener)
  client.once('data', () => client.pause())
  server.write(message(1, 10))
  await once(client, 'data')
  server.write(message(2, 10))
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.equal(heard.length, 1)
  client.on('data', () => client.destroy())
  client.resume()
  await once(client, 'close')
  t.same(heard, [message(1, 10), message(2, 10)])
  server.destroy()
})

void t.test('one buffer is read into, and a large message leaves none of its size', async (t) => {
  const { server, client } = await pair(await listening(t))
  const seen: ArrayBufferLike[] = []
  client.on('data', (bytes: Buffer) => seen.push(bytes.buffer))
  for (const length of [10, 1_000, 500_000, 10, 20]) {
    server.write(message(3, length))
    await once(client, 'data')
  }
  const [first, second, large, ...small] = seen
  t.equal(first, second)
  t.ok((large?.byteLength ?? 0) > 500_000)
  t.same(
    small.map(({ byteLength }) => byteLength),
    [first?.byteLength, first?.byteLength],
  )
  t.equal(small[0], small[1])
  client.destroy()
  server.destroy()
})
