import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import fp from 'fastify-plugin'

/** Smaller answers fit into one packet anyway. */
const THRESHOLD_BYTES = 1024
/**
 * No answer is larger. 340 kB take 1.4 ms (brotli) or 2.9 ms (gzip) at these levels. A stream on Node's thread pool took
 * 12 ms for 68 kB. Higher levels save at most 5 % of the bytes.
 */
const IN_PLACE_BYTES = 2 * 1024 * 1024
/** Beside the types that the plugin knows. An event stream must not wait in a compressor. */
const COMPRESSED = /^text\/(?!event-stream)|[+/](?:x-nd)?json(?:;|$)/u
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const GZIP = { level: 1 }

/** Compresses answers above 1 kB with brotli or gzip, as the client prefers. */
export const compression = fp(
  async (app) => {
    app.addHook('onRequest', async (_request, reply) => {
      // Caches need the header on every answer, including uncompressed ones.
      const vary = reply.getHeader('vary')
      reply.header('vary', vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`)
    })
    await app.register(compress, {
      encodings: ['br', 'gzip'],
      threshold: THRESHOLD_BYTES,
      syncThreshold: IN_PLACE_BYTES,
      customTypes: COMPRESSED,
      globalDecompression: false,
      brotliOptions: BROTLI,
      zlibOptions: GZIP,
      zlib: {
        brotliCompressSync: remembered((body) => brotliCompressSync(body, BROTLI)),
        gzipSync: remembered((body) => gzipSync(body, GZIP)),
      },
    })
  },
  { name: 'compression' },
)

/**
 * A kept answer is one buffer for all its requests, so it is compressed once. The result is released with its buffer.
 */
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
