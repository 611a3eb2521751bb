import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import pLimit from 'p-limit'
import t from 'tap'
import type { Test } from 'tap'
import { messageOf } from '../../../../shared/errors.ts'
import type { HttpAnswer } from '../../../../indexer/sources/rpc/http-exchange.ts'
import { undiciPost } from '../../../../indexer/sources/rpc/http-post.ts'
import { BodyRoom, textOf } from '../../../../indexer/sources/rpc/read-body.ts'
import { RpcEndpoint } from '../../../../indexer/sources/rpc/rpc-endpoint.ts'

type Answering = (request: IncomingMessage, response: ServerResponse) => void

async function serve(t: Test, answer: Answering): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const MOST_BYTES = 4 * 1024 * 1024

function post(url: string, timeoutMs = 5_000, controller = new AbortController()): Promise<HttpAnswer> {
  return undiciPost(url)('{}', { timeoutMs, controller, room: new BodyRoom(MOST_BYTES, pLimit(1)) })
}

/** What became of it: the text, or the fault. */
async function outcome(t: Test, answer: Answering, timeoutMs?: number): Promise<string> {
  const url = await serve(t, answer)
  return post(url, timeoutMs).then(({ body }) => textOf(body), messageOf)
}

const GZIP = { 'content-encoding': 'gzip' }

/** One whose other side this is: resolves once the client has closed the connection. */
function closed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once('close', resolve))
}

void t.test('packed answers are asked for and unpacked, whatever their status', async (t) => {
  const asked: (string | undefined)[] = []
  for (const status of [200, 500]) {
    const text = await outcome(t, ({ headers }, response) => {
      asked.push(headers['accept-encoding'], headers['user-agent'])
      response.writeHead(status, GZIP).end(gzipSync('{"größe":1}'))
    })
    t.equal(text, '{"größe":1}')
  }
  t.same(asked, ['gzip', 'loan-activity', 'gzip', 'loan-activity'])
})

void t.test('a packed answer of many pieces is the text that it was', async (t) => {
  const long = `${'a'.repeat(65_535)}€${'ö😀'.repeat(100_000)}`
  const text = await outcome(t, (_, response) => response.writeHead(200, GZIP).end(gzipSync(long)))
  t.ok(text === long)
})

void t.test('a character that comes in two pieces is one character', async (t) => {
  const bytes = Buffer.from('a\u{1F600}b')
  const text = await outcome(t, (_, response) => {
    response.write(bytes.subarray(0, 3))
    setTimeout(() => response.end(bytes.subarray(3)), 20)
  })
  t.equal(text, 'a\u{1F600}b')
})

void t.test('what is too large is not kept, packed or not', async (t) => {
  const mebibyte = Buffer.alloc(1024 * 1024)
  let sent = 0
  const ends: Promise<void>[] = []
  const endless: Answering = (_, response) => {
    ends.push(closed(response))
    const more = (): void => {
      while (!response.destroyed && sent < 16 * MOST_BYTES && response.write(mebibyte)) {
        sent += mebibyte.length
      }
    }
    response.on('drain', more)
    more()
  }
  const tooLarge = `its answer has more than ${MOST_BYTES} bytes`
  t.equal(await outcome(t, endless, 60_000), tooLarge)
  await Promise.all(ends)
  t.ok(sent < 8 * MOST_BYTES, 'and the rest is not read')
  const bomb = gzipSync(Buffer.alloc(MOST_BYTES + 1))
  t.equal(await outcome(t, (_, response) => response.writeHead(200, GZIP).end(bomb), 60_000), tooLarge)
})

void t.test('a length that is said to be too large is not waited for', async (t) => {
  const said = await outcome(t, (_, response) =>
    response.writeHead(200, { 'content-length': MOST_BYTES + 1 }).write('{'),
  )
  t.equal(said, `its answer has more than ${MOST_BYTES} bytes`)
})

void t.test('packed bytes count too: they may unpack to nothing', async (t) => {
  // An empty block of deflate that is not the last one.
  const empty = Buffer.from([0, 0, 0, 0xff, 0xff])
  const nothing = Buffer.concat([gzipSync('').subarray(0, 10), Buffer.alloc(2 * MOST_BYTES, empty)])
  const said = await outcome(t, (_, response) => response.writeHead(200, GZIP).end(nothing), 60_000)
  t.equal(said, `its answer has more than ${MOST_BYTES} bytes`)
})

void t.test('headers without an end are a fault', async (t) => {
  const said = await outcome(t, ({ socket }) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 200 OK\r\n')
    const more = (): void => {
      while (!socket.destroyed && socket.write(`x: ${'y'.repeat(1_000)}\r\n`));
    }
    socket.on('drain', more)
    more()
  })
  t.equal(said, 'UND_ERR_HEADERS_OVERFLOW')
})

void t.test('one endpoint reads one large body at a time; small ones go on', async (t) => {
  const held: ServerResponse[] = []
  const url = await serve(t, ({ url: path }, response) => {
    if (path === '/small') response.end('{}')
    else {
      response.write(Buffer.alloc(1024 * 1024, 0x20))
      held.push(response)
    }
  })
  const turns = pLimit(1)
  const rooms = Array.from({ length: 4 }, () => new BodyRoom(MOST_BYTES, turns))
  const ask = (room: BodyRoom, path = ''): Promise<HttpAnswer> =>
    undiciPost(url + path)('{}', { timeoutMs: 20_000, controller: new AbortController(), room })
  const [first, second, third, small] = rooms
  if (first === undefined || second === undefined || third === undefined || small === undefined)
    throw new Error('four rooms')
  const answers = [first, second, third].map((room) => ask(room).finally(() => room.leave()))
  while (held.length < 3) await delay(5)
  t.match((await ask(small, 'small')).body.toString(), '{}')
  // Whichever was first goes on without the others.
  for (const response of held) response.end()
  for (const { body } of await Promise.all(answers)) t.equal(body.byteLength, 1024 * 1024)
})

void t.test('what does not unpack is a fault of the endpoint', async (t) => {
  const broken = await outcome(t, (_, response) => response.writeHead(200, GZIP).end('{"result":1}'))
  t.equal(broken, 'answer is no gzip (Z_DATA_ERROR)')
  const cut = gzipSync('{"result":1}').subarray(0, 20)
  const short = await outcome(t, (_, response) => response.writeHead(200, GZIP).end(cut))
  t.equal(short, 'answer is no gzip (Z_BUF_ERROR)')
})

void t.test('the name of the packing has no case, and an unknown one means nothing', async (t) => {
  for (const coding of ['GZIP', ' gzip ', 'x-gzip']) {
    const text = await outcome(t, (_, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(gzipSync('{}')),
    )
    t.equal(text, '{}', coding)
  }
  for (const coding of ['identity', 'none', 'UTF-8']) {
    const text = await outcome(t, (_, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end('{}'),
    )
    t.equal(text, '{}', coding)
  }
})

void t.test('a refusal counts whose text cannot be read', async (t) => {
  const url = await serve(t, (_, response) => response.writeHead(429, { ...GZIP, 'retry-after': '20' }).end())
  t.same(await post(url), { status: 429, retryAfterMs: 20_000, body: Buffer.alloc(0) })
})

void t.test('what is said before the answer is none', async (t) => {
  const url = await serve(t, (_, response) => {
    response.writeProcessing()
    response.writeEarlyHints({ link: '</a>; rel=preload', 'retry-after': '7', ...GZIP }, () =>
      response.writeHead(429, { 'retry-after': '2' }).end('{}'),
    )
  })
  const { status, retryAfterMs, body } = await post(url)
  t.same([status, retryAfterMs, textOf(body)], [429, 2_000, '{}'])
})

void t.test('an answer in single bytes is read', async (t) => {
  const crumbs = 50_000
  for (const isPacked of [false, true]) {
    const url = await serve(t, ({ socket }) => {
      const coding = isPacked ? 'content-encoding: gzip\r\n' : ''
      socket.write(`HTTP/1.1 200 OK\r\n${coding}transfer-encoding: chunked\r\n\r\n`)
      // What is not worth packing is longer packed.
      const body = isPacked ? gzipSync(Buffer.alloc(crumbs, 'x'), { level: 0 }) : Buffer.alloc(crumbs, 'x')
      const framed = Buffer.alloc(body.byteLength * 6)
      for (const [index, byte] of body.entries()) {
        framed.write('1\r\n?\r\n', index * 6)
        framed[index * 6 + 3] = byte
      }
      socket.write(framed)
      socket.write('0\r\n\r\n')
    })
    t.equal(textOf((await post(url, 60_000)).body), 'x'.repeat(crumbs))
  }
})

void t.test('a refusal whose text cannot be read counts at once, though more of it may come', async (t) => {
  const ends: Promise<void>[] = []
  const url = await serve(t, (_, response) => {
    ends.push(closed(response))
    response.writeHead(429, { ...GZIP, 'retry-after': '20' }).write('no gzip at all')
  })
  t.same(await post(url, 60_000), { status: 429, retryAfterMs: 20_000, body: Buffer.alloc(0) })
  await Promise.all(ends)
})

void t.test('who gives up before or while it is answered is told so, and the connection ends', async (t) => {
  const ends: Promise<void>[] = []
  const url = await serve(t, (_, response) => {
    ends.push(closed(response))
    response.write('[')
  })
  const early = new AbortController()
  early.abort(new Error('given up'))
  t.equal(await post(url, 5_000, early).catch(messageOf), 'connection failed (Error)')
  const late = new AbortController()
  const answer = post(url, 5_000, late).catch(messageOf)
  while (ends.length === 0) await delay(5)
  late.abort(new Error('given up'))
  t.equal(await answer, 'connection failed (Error)')
  await Promise.all(ends)
})

void t.test('a byte order mark is no part of the text', async (t) => {
  t.equal(await outcome(t, (_, response) => response.end('\ufeff{}')), '{}')
})

void t.test('the time limit holds before and within an answer, and ends the exchange', async (t) => {
  const ends: Promise<void>[] = []
  for (const beginning of ['', '{']) {
    const told = await outcome(
      t,
      (_, response) => {
        ends.push(closed(response))
        if (beginning !== '') response.write(beginning)
      },
      100,
    )
    t.equal(told, 'no answer within 100 ms')
  }
  await Promise.all(ends)
  t.equal(ends.length, 2)
})

void t.test('a connection that fails is told by its code', async (t) => {
  t.equal(await outcome(t, ({ socket }) => socket.destroy()), 'UND_ERR_SOCKET')
  t.equal(await post('http://127.0.0.1:1/').catch(messageOf), 'ECONNREFUSED')
  t.equal(
    await outcome(t, (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{')
      setTimeout(() => response.destroy(), 20)
    }),
    'UND_ERR_SOCKET',
  )
})

void t.test('a redirect is not followed: it would take a key elsewhere', async (t) => {
  let elsewhere = 0
  const other = await serve(t, (_, response) => {
    elsewhere += 1
    response.end('{}')
  })
  const url = await serve(t, (_, response) =>
    response.writeHead(308, { location: other }).end('{"error":{"code":1}}'),
  )
  const endpoint = new RpcEndpoint(url, {
    ...{ timeoutMs: 5_000, maxBatch: 2, maxConcurrent: 1 },
    classify: () => 'other',
  })
  t.teardown(() => endpoint.close())
  for (const calls of [1, 2]) {
    const message = await endpoint
      .send(Array.from({ length: calls }, () => ({ method: 'eth_chainId', params: [] })))
      .then(String, messageOf)
    t.equal(message, 'HTTP 308: a redirect, which is not followed')
  }
  t.equal(elsewhere, 0)
})

void t.test('the time limit holds while the connection is made, and so does closing', async (t) => {
  const deaf = createTcpServer((socket) => t.teardown(() => socket.destroy()))
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
  t.teardown(() => deaf.close())
  const url = `https://127.0.0.1:${(deaf.address() as AddressInfo).port}/`
  const beganMs = performance.now()
  t.equal(await post(url, 100).catch(messageOf), 'no answer within 100 ms')
  const endpoint = new RpcEndpoint(url, {
    ...{ timeoutMs: 60_000, maxBatch: 1, maxConcurrent: 1 },
    classify: () => 'other',
  })
  const asked = endpoint.send([{ method: 'eth_chainId', params: [] }]).then(String, messageOf)
  setTimeout(() => endpoint.close(), 100)
  t.equal(await asked, 'closed')
  t.ok(performance.now() - beganMs < 9_500, 'and not when connecting is given up, after 10 seconds')
})

void t.test('one character that is not plain, in the last of many pieces, is itself', async (t) => {
  const text = `${'x'.repeat(300_000)}€`
  t.ok((await outcome(t, (_, response) => response.end(text))) === text)
})
