import type { FastifyInstance } from 'fastify'
import { getIndexingStatus } from '../queries/indexing-status.ts'
import type { ReadDatabase } from '../queries/read-database.ts'
import { responses } from '../schemas/common.ts'
import { publicHealth } from '../schemas/public-health.ts'
import { statusAnswer } from '../schemas/status.ts'
import { noParameters } from './no-parameters.ts'
import { READ } from './read.ts'

/** How far every network is indexed. */
export function status(app: FastifyInstance, database: ReadDatabase, version: string): void {
  const schema = { response: responses(statusAnswer, 400, 405, 500, 503) }
  const handler = async (): Promise<object> => {
    const { records, networks } = await getIndexingStatus(database)
    return { status: 'OK', payload: { version, records, networks: networks.map(publicHealth) } }
  }
  app.route({ method: READ, url: '/api/status', schema, onRequest: noParameters, handler })
}
