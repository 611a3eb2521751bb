import { useEffect, useState } from 'preact/hooks'
import {
  getRecord,
  searchActivity,
  type ActivityRecord,
  type ProvenanceAnswer,
} from '../../../../client/index.ts'
import { Empty, Answered } from '../../components/states.tsx'
import { Time } from '../../components/time.tsx'
import { eventWords } from '../../lib/format.ts'
import { followStream } from '../../lib/stream.ts'
import { useAnswer } from '../../lib/use-answer.ts'
import type { Call, Reply } from '../../lib/api.ts'
import { PROOF_WORDS } from '../loan/proof-words.ts'
import { proofsOf, reorgsOf, type Origin } from './proofs.ts'

/** The newest records whose origin is asked for: the status itself tells nothing of proofs and reorgs. */
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
  // The ETag of the search says nothing of the proofs.
  return { data: answers.flatMap(({ data }) => data?.payload ?? []), response: new Response() }
}

interface Change {
  kind: 'changed' | 'retracted'
  record: ActivityRecord
  at: string
}

/** How the ranges were proven, and the last reorgs. */
export function Proofs() {
  const asked = useAnswer('newest origins', askOrigins, EVERY_MS)
  const changes = useChanges()
  return (
    <div class="pair-of-panels">
      <section class="panel" aria-labelledby="proofs">
        <h2 id="proofs">How the newest records were proven</h2>
        <Answered asked={asked} what="the proofs">
          {(origins) => <ProofList origins={origins} />}
        </Answered>
      </section>
      <section class="panel" aria-labelledby="reorgs">
        <h2 id="reorgs">Last reorgs</h2>
        <Reorgs changes={changes} origins={asked.data ?? []} />
      </section>
    </div>
  )
}

function ProofList({ origins }: { origins: readonly Origin[] }) {
  const proofs = proofsOf(origins)
  if (proofs.length === 0) return <Empty title="No record yet" />
  return (
    <>
      <dl class="proofs">
        {proofs.map(({ network, kinds, checks }) => (
          <div key={network}>
            <dt>
              <bdi>{network}</bdi>
            </dt>
            {kinds.map(({ kind, count }) => (
              <dd key={kind} class={kind === 'one' ? 'weak' : undefined}>
                {count} × {PROOF_WORDS[kind]}
              </dd>
            ))}
            <dd class="small faint">Checks: {checks.join(', ') || 'none'}</dd>
          </div>
        ))}
      </dl>
      <p class="small faint">Of the newest {origins.length} records; those of vouchers have no range.</p>
    </>
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

function Reorgs({ changes, origins }: { changes: readonly Change[]; origins: readonly Origin[] }) {
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
