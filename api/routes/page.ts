import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyPluginCallback } from 'fastify'
import { READ } from './read.ts'
import { knowsTag } from './send-answer.ts'

/** The page loads its own files only, and no script or style in the document runs. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ')

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Names of assets carry a hash of their content, so a copy is good for ever. */
const ASSET_CACHE = 'public, max-age=31536000, immutable'

/** Beside api/main.js in a bundle; else where `npm start` and `npm run build` put it. */
const FOLDERS = ['page/', '../../dist/api/page/'].map((path) => new URL(path, import.meta.url))

export interface PageOptions {
  /** The built page; found by itself if undefined. */
  folder?: URL | undefined
}

/** Serves the web page at `/`. Without a build there is no such route. */
export const page: FastifyPluginCallback<PageOptions> = (app, options, done) => {
  const folder = options.folder ?? FOLDERS.find((one) => existsSync(new URL('index.html', one)))
  if (folder === undefined) {
    app.log.info('there is no page at /: `npm run build` makes it')
    done()
    return
  }
  const assets = readdirSync(fileURLToPath(new URL('assets', folder))).map((name) => `assets/${name}`)
  for (const name of ['index.html', ...assets]) serve(name, readFileSync(new URL(name, folder)))
  done()

  function serve(name: string, body: Buffer): void {
    const isDocument = name === 'index.html'
    const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
    const type = TYPES[extname(name)] ?? 'application/octet-stream'
    app.route({
      method: READ,
      url: isDocument ? '/' : `/${name}`,
      schema: { hide: true },
      handler: (request, reply) => {
        // Weak, because compressed forms share it.
        reply.header('etag', `W/${tag}`).header('cache-control', isDocument ? 'no-cache' : ASSET_CACHE)
        reply.header('content-security-policy', POLICY).header('referrer-policy', 'no-referrer').type(type)
        const isKnown = knowsTag(request.headers['if-none-match'], tag)
        if (isKnown) reply.code(304)
        return isKnown && request.method !== 'HEAD' ? reply.send() : reply.send(body)
      },
    })
  }
}
