import { useEffect, useState } from 'preact/hooks'
import {
  getRecord,
  searchActivity,
  type ActivityRecord,
  type ProvenanceAnswer,
} from '../../../../client/index.ts'
import { Time } from '../../components/time.tsx'
import { eventWords } from '../../lib/format.ts'
import { followStream } from '../../lib/stream.ts'
import { useAnswer } from '../../lib/use-answer.ts'
import type { Call, Reply } from '../../lib/api.ts'
import { reorgsOf, type Origin } from './reorgs.ts'

/** The newest records whose origin is asked for: the status tells nothing of reorgs. */
const NEWEST = 12
const EVERY_MS = 15_000
const MOST_CHANGES = 20

const askOrigins: Call<Origin[]> = async (options) => {
  const found = await searchActivity({ ...options, query: { limit: `${NEWEST}` } })
  if (found.data === undefined) return found
  const asked = found.data.payload.map(({ id }) => getRecord({ ...options, path: { id: `${id}` } }))
  const answers: Reply<ProvenanceAnswer>[] = await Promise.all(asked)
  // A reorg can take a record away between the two questions.
  const failed = answers.find(({ data, response }) => data === undefined && response?.status !== 404)
  if (failed !== undefined) return { error: failed.error, response: failed.response }
  // The ETag of the search says nothing of what each record went through.
  return { data: answers.flatMap(({ data }) => data?.payload ?? []), response: new Response() }
}

interface Change {
  kind: 'changed' | 'retracted'
  record: ActivityRecord
  at: string
}

/** The newest records that a reorg moved or took back. */
export function Reorgs() {
  const asked = useAnswer('newest origins', askOrigins, EVERY_MS)
  const changes = useChanges()
  return (
    <section class="panel" aria-labelledby="reorgs">
      <h2 id="reorgs">Last reorgs</h2>
      <Changes changes={changes} origins={asked.data ?? []} />
    </section>
  )
}

/** Lists records that the stream changed or removed since the view was opened. */
function useChanges(): Change[] {
  const [changes, setChanges] = useState<Change[]>([])
  useEffect(() => {
    const stopped = new AbortController()
    const onChange = (kind: Change['kind'], record: ActivityRecord): void =>
      setChanges((before) =>
        [{ kind, record, at: new Date().toISOString() }, ...before].slice(0, MOST_CHANGES),
      )
    const ignore = (): void => undefined
    followStream({ onRecord: ignore, onChange, onOpen: ignore, onGap: ignore }, stopped.signal)
    return () => stopped.abort()
  }, [])
  return changes
}

function Changes({ changes, origins }: { changes: readonly Change[]; origins: readonly Origin[] }) {
  const traces = reorgsOf(origins)
  return (
    <>
      <ul class="reorgs">
        {changes.map(({ kind, record, at }) => (
          <li key={`${record.id} ${at}`}>
            <bdi>{eventWords(record.event)}</bdi> ({record.id}) was{' '}
            {kind === 'retracted' ? 'taken back' : 'changed'} <Time at={at} />
          </li>
        ))}
        {traces.map(({ id, event, op, at }) => (
          <li key={`${id} ${at} ${op}`}>
            <bdi>{eventWords(event)}</bdi> ({id}) {op === 'retract' ? 'went' : 'moved'} with a reorg{' '}
            <Time at={at} />
          </li>
        ))}
      </ul>
      {changes.length + traces.length === 0 && <p>None has changed a record since this view was opened.</p>}
      <p class="small faint">From the stream of changes, and from the history of the newest records.</p>
    </>
  )
}
