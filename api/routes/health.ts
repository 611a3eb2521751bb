import type { FastifyPluginCallback } from 'fastify'
import { messageOf } from '../../shared/errors.ts'
import { NOT_FOLLOWED } from '../../shared/indexing-health.ts'
import { getIndexingStatus } from '../queries/indexing-status.ts'
import { DatabaseAway, type ReadDatabase } from '../queries/read-database.ts'
import { response } from '../schemas/common.ts'
import { READ } from './read.ts'
import { publicHealth } from '../schemas/public-health.ts'
import { livenessAnswer, readinessAnswer } from '../schemas/status.ts'

interface Readiness {
  status: 'OK' | 'ERROR'
  message: string
  payload?: { networks: { network: string; state: string; synced: boolean; note: string }[] }
}

/** /healthz: this process is alive. /readyz: its answers are fresh. */
export const health: FastifyPluginCallback = (app, _options, done) => {
  app.route({
    method: READ,
    url: '/healthz',
    schema: {
      tags: ['Service'],
      operationId: 'getLiveness',
      summary: 'Whether this process lives',
      response: { 200: response(livenessAnswer) },
    },
    handler: () => Promise.resolve({ status: 'OK' }),
  })
  app.route({
    method: READ,
    url: '/readyz',
    schema: {
      tags: ['Service'],
      operationId: 'getReadiness',
      summary: 'Whether the answers are fresh',
      response: {
        200: response(readinessAnswer),
        503: response(readinessAnswer, {
          description: 'A network is behind, or the database is away; without `payload` when it is away',
          example: { status: 'ERROR', message: 'the database does not answer' },
        }),
      },
    },
    handler: async (_request, reply) => {
      const readiness = await judgeReadiness(app.database)
      return reply.code(readiness.status === 'OK' ? 200 : 503).send(readiness)
    },
  })
  done()
}

async function judgeReadiness(database: ReadDatabase): Promise<Readiness> {
  let networks: Required<Readiness>['payload']['networks']
  try {
    // Networks that are no longer configured do not delay readiness.
    networks = (await getIndexingStatus(database)).networks
      .map(publicHealth)
      .filter(({ state }) => state !== NOT_FOLLOWED)
      .map(({ network, state, synced, note }) => ({ network, state, synced, note }))
  } catch (error) {
    if (!(error instanceof DatabaseAway)) throw error
    return { status: 'ERROR', message: messageOf(error) }
  }
  const late = networks.filter(({ synced }) => !synced).map(({ network, note }) => `${network}: ${note}`)
  if (networks.length === 0) late.push('no network is followed: no indexer has told of one')
  return late.length === 0
    ? { status: 'OK', message: 'every network is fresh', payload: { networks } }
    : { status: 'ERROR', message: late.join('; '), payload: { networks } }
}
