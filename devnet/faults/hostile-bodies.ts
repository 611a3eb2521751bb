import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Fault, Request } from './fault.ts'

/** Answers made to exhaust their reader. */

const MIB = 1024 * 1024
const NO_LOG = {
  ...{ address: `0x${'11'.repeat(20)}`, topics: [`0x${'22'.repeat(32)}`], data: `0x${'00'.repeat(128)}` },
  ...{ blockNumber: '0x1', blockHash: `0x${'33'.repeat(32)}`, transactionHash: `0x${'44'.repeat(32)}` },
  ...{ transactionIndex: '0x0', removed: false },
}

type MakeBody = (ids: readonly number[]) => Buffer

/** The answer to a single call, or to each call of a batch, with this result (JSON text). */
function answers(ids: readonly number[], result: string): Buffer {
  const texts = ids.map((id) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`)
  return Buffer.from(texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`)
}

/** Only the first call's answer is long: long answers for all would test this program's memory. */
function oneLong(ids: readonly number[], result: string): Buffer {
  return Buffer.from(`${ids.length === 1 ? '' : '['}{"jsonrpc":"2.0","id":${ids[0]},"result":${result}`)
}

function once(make: () => string): () => string {
  let made: string | undefined
  return () => (made ??= make())
}

const emptyObjects = once(() => `[${'{},'.repeat((8 * MIB) / 3)}{}]}`)
const manyLogs = once(
  () =>
    `[${Array.from({ length: 160_000 }, (_, index) => JSON.stringify({ ...NO_LOG, logIndex: `0x${index.toString(16)}` })).join()}]}`,
)

/** Complete bodies, by defect. */
export const HOSTILE_BODIES: Readonly<Record<string, MakeBody>> = {
  '8 MB of {}': (ids) => oneLong(ids, emptyObjects()),
  '60 MB of [': () => Buffer.alloc(60 * MIB, '['),
  'objects nested 2,000,000 deep': () => Buffer.from('{"a":'.repeat(2_000_000)),
  'a string of 50 MB': (ids) => answers(ids.slice(0, 1), `"0x${'0'.repeat(50 * MIB)}"`),
  'a million answers': (ids) =>
    Buffer.from(`[${`{"jsonrpc":"2.0","id":${ids[0]},"result":"0x1"},`.repeat(1_000_000)}0]`),
  'two answers to one call': (ids) =>
    answers(ids.length === 1 ? [...ids, ...ids] : ids.map(() => ids[0] ?? 0), '"0x1"'),
  'a number of a million digits': (ids) => answers(ids, '9'.repeat(1_000_000 / ids.length)),
  '160,000 logs': (ids) => oneLong(ids, manyLogs()),
  '8 MB of distinct names': (ids) =>
    oneLong(ids, `[${Array.from({ length: 600_000 }, (_, index) => `{"${index.toString(36)}":0}`).join()}]}`),
  '8 MB of invalid UTF-8': () => Buffer.alloc(8 * MIB, 0xff),
}

/** Sends one body instead of each answer, compressed or not. */
export function hostileBody(name: string, isPacked: boolean): Fault {
  const make = HOSTILE_BODIES[name]
  if (make === undefined) throw new Error(`there is no body "${name}"`)
  let packed: Buffer | undefined
  return (requests) => {
    const ids = requests.map(({ id }) => id)
    // Compression takes longest, so the packed body is reused; its ids do not matter.
    const body = isPacked ? (packed ??= gzipSync(make(ids), { level: 1 })) : make(ids)
    return {
      write: (response) => {
        response.writeHead(200, {
          'content-type': 'application/json',
          ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
        })
        response.end(body)
      },
    }
  }
}

function writeWithoutEnd(response: ServerResponse, piece: Buffer): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', more)
  more()
}

/** Responses that never end. */
export const ENDLESS_RESPONSES: Readonly<Record<string, Fault>> = {
  'a body without an end': () => ({
    write: (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      writeWithoutEnd(response, Buffer.alloc(64 * 1024, ' '))
    },
  }),
  'a body that drips': () => ({
    write: (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const drip = setInterval(() => response.write('['), 50)
      response.on('close', () => clearInterval(drip))
    },
  }),
  'chunks of one byte': () => ({
    write: ({ socket }) => {
      socket?.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      const chunks = Buffer.from('1\r\n \r\n'.repeat(10_000))
      const more = (): void => {
        while (socket?.destroyed === false && socket.write(chunks));
      }
      socket?.on('drain', more)
      more()
    },
  }),
  'a header without an end': () => ({
    write: ({ socket }) => {
      socket?.write('HTTP/1.1 200 OK\r\n')
      const line = Buffer.from(`x: ${'y'.repeat(60_000)}\r\n`)
      const more = (): void => {
        while (socket?.destroyed === false && socket.write(line));
      }
      socket?.on('drain', more)
      more()
    },
  }),
}

/** Applies the fault to these methods only; other methods get true answers. */
export function onlyFor(methods: readonly string[], fault: Fault): Fault {
  return (requests: Request[], ...rest) =>
    requests.some(({ method }) => methods.includes(method)) ? fault(requests, ...rest) : null
}
