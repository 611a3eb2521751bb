import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { exportLines, exportPage, type Find } from '../exports/export-lines.ts'
import { ExportPlaces } from '../exports/export-places.ts'
import type { ExportFormat } from '../exports/formats.ts'
import { takenInTime } from '../exports/taken-in-time.ts'
import { clientKey } from '../plugins/client-key.ts'
import { Overloaded } from '../plugins/errors.ts'
import type { ActivitySearch } from '../queries/activity-sql.ts'
import type { Snapshot } from '../queries/snapshot.ts'
import { setIndexed } from './send-answer.ts'

/** Each export holds a database connection, so that most of them are left for other requests. */
const MOST_EXPORTS = 2
const NO_PLACE = new Overloaded('as many exports run as may, or one of this client: try again')

export type SendExport = (
  request: FastifyRequest,
  reply: FastifyReply,
  asked: { search: ActivitySearch; format: ExportFormat; find: Find },
) => Promise<FastifyReply>

/** Returns the function that streams all records of a search, from one snapshot, as fast as the client reads. */
export function exportsOf(app: FastifyInstance): SendExport {
  const places = new ExportPlaces(Math.min(MOST_EXPORTS, app.database.connections - 1))
  return async (request, reply, { search, format, find }) => {
    const free = places.take(clientKey(request))
    if (free === null) throw NO_PLACE
    let snapshot: Snapshot | undefined
    const end = async (): Promise<void> => {
      await snapshot?.close()
      free()
    }
    const begin = async (): Promise<AsyncGenerator<string>> => {
      snapshot = await app.database.openSnapshot()
      const first = await exportPage(snapshot, search, find)
      setIndexed(reply, first.indexed)
      return closing(exportLines(snapshot, search, { first, format, find }), end)
    }
    const lines = await begin().catch(async (error: unknown) => {
      await end()
      throw error
    })
    if (request.method === 'HEAD') await end()
    const { exportTextWithinMs: withinMs } = app.config
    const taken = takenInTime(lines, withinMs, () =>
      stream.destroy(new Error(`an export’s reader took too little within ${withinMs} ms`)),
    )
    const stream = Readable.from(request.method === 'HEAD' ? [] : taken, { objectMode: false })
    // Comes also where the client disappears before it has read anything.
    stream.once('close', () => void end())
    return reply.header('cache-control', 'no-store').type(format.contentType).send(stream)
  }
}

/** A client that has the end of an export may begin another one: its place is free by then. */
async function* closing(lines: AsyncGenerator<string>, end: () => Promise<void>): AsyncGenerator<string> {
  yield* lines
  await end()
}
