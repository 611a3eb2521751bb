import type { FastifyPluginCallback } from 'fastify'
import { taggedAnswer, type Answer } from '../queries/answer-cache.ts'
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
      document ??= taggedAnswer(JSON.stringify(app.swagger()))
      return sendAnswer(request, reply, document)
    },
  })
  done()
}
