import { createHash } from 'node:crypto'
import type { FastifyPluginCallback } from 'fastify'
import type { Answer } from '../queries/answer-cache.ts'
import { READ } from './read.ts'
import { sendAnswer } from './send-answer.ts'

/** Serves the OpenAPI document, which stays the same while the process runs. */
export const openapiDocument: FastifyPluginCallback = (app, _options, done) => {
  let document: Answer | undefined
  app.route({
    method: READ,
    url: '/openapi.json',
    schema: { hide: true },
    handler: (request, reply) => {
      document ??= toAnswer(JSON.stringify(app.swagger()))
      return sendAnswer(request, reply, document)
    },
  })
  done()
}

function toAnswer(text: string): Answer {
  const body = Buffer.from(text)
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"` }
}
