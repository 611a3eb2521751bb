import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance } from 'fastify'

/** Smaller answers fit into one packet anyway. */
const THRESHOLD_BYTES = 1024
/** Larger answers are compressed on a thread of Node's pool, in pieces: a page of the history has 9 kB. */
const IN_PLACE_BYTES = 64 * 1024
/** Brotli's 4 and zlib's 6 take about as long; higher levels take several times as long for a tenth less. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const GZIP = { level: 6 }

/** brotli or gzip, as the client prefers, for answers above 1 kB. Register it before the routes. */
export async function installCompression(app: FastifyInstance): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    // Caches must know it of every answer, also of one that was sent as it is.
    const vary = reply.getHeader('vary')
    reply.header('vary', vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`)
  })
  await app.register(compress, {
    encodings: ['br', 'gzip'],
    threshold: THRESHOLD_BYTES,
    syncThreshold: IN_PLACE_BYTES,
    globalDecompression: false,
    brotliOptions: BROTLI,
    zlibOptions: GZIP,
    zlib: {
      brotliCompressSync: remembered((body) => brotliCompressSync(body, BROTLI)),
      gzipSync: remembered((body) => gzipSync(body, GZIP)),
    },
  })
}

/** A kept answer is one buffer for all its requests: it is compressed once, and forgotten with its buffer. */
function remembered(compressOne: (body: Buffer) => Buffer): (body: Buffer) => Buffer {
  const known = new WeakMap<Buffer, Buffer>()
  return (body) => {
    const before = known.get(body)
    if (before !== undefined) return before
    const compressed = compressOne(body)
    known.set(body, compressed)
    return compressed
  }
}
