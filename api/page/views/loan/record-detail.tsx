import { getRecord, type ActivityRecord, type ProvenanceAnswer } from '../../../../client/index.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { Hash, Short, Unknown } from '../../components/names.tsx'
import { Failed } from '../../components/states.tsx'
import { exactTime, toMs } from '../../lib/format.ts'
import { useAnswer } from '../../lib/use-answer.ts'
import { eventWords, isOffChain } from './event-words.ts'
import { PROOF_WORDS } from './proof-words.ts'

/** The chosen record, and how this service knows it. */
export function RecordDetail({ record }: { record: ActivityRecord | undefined }) {
  if (record === undefined) return null
  return <Detail key={record.id} record={record} />
}

function Detail({ record }: { record: ActivityRecord }) {
  const id = String(record.id)
  const asked = useAnswer(`record ${id}`, (options) => getRecord({ ...options, path: { id } }))
  const { title } = eventWords(record.event)
  return (
    <div class="record-detail">
      <h3>
        <bdi>{title}</bdi>
      </h3>
      <dl class="lines">
        <div class="line">
          <dt>{isOffChain(record.event) ? 'Voucher' : 'Transaction'}</dt>
          <dd>
            <Hash of={record.txHash} networkId={record.networkId} isVoucher={isOffChain(record.event)} />
          </dd>
        </div>
        <div class="line">
          <dt>Record</dt>
          <dd>
            <a href={`#/?before=${record.id + 1}`}>{id}</a>, <code>{record.event}</code>
          </dd>
        </div>
        {asked.data !== undefined && <Origin provenance={asked.data.payload} />}
      </dl>
      {asked.failure !== undefined && (
        <Failed failure={asked.failure} retry={asked.retry} what="its origin" />
      )}
    </div>
  )
}

const FINALITY: Record<string, { tone: Tone; text: string }> = {
  final: { tone: 'good', text: 'final' },
  safe: { tone: 'plain', text: 'safe' },
  seen: { tone: 'plain', text: 'a reorg can still take it back' },
}
const SOURCES: Record<string, string> = {
  chain: 'read from the chain',
  redemption: 'a redemption carried it',
  'handed in': 'handed in',
  derived: 'a later fact made it visible',
}

function Origin({ provenance }: { provenance: ProvenanceAnswer['payload'] }) {
  const { block, epoch, time, hash, finality, proof, source, history } = provenance
  const at = time === null ? null : toMs(time)
  const known = finality === null ? undefined : FINALITY[finality]
  const reorgs = history.filter(({ cause }) => cause === 'reorg').length
  return (
    <>
      <div class="line">
        <dt>On the chain</dt>
        <dd>
          {block !== null && `block ${block} `}
          {epoch !== null && `epoch ${epoch} `}
          {block === null && epoch === null && 'on no chain '}
          {known !== undefined && <Badge tone={known.tone}>{known.text}</Badge>}
          {at !== null && <span class="exact">{exactTime(at)}</span>}
          {hash !== null && (
            <span class="pair">
              <Short text={hash} what={epoch === null ? 'block hash' : 'tipset key'} />
            </span>
          )}
        </dd>
      </div>
      <div class="line">
        <dt>How it is known</dt>
        <dd>
          {SOURCES[source] ?? <Unknown />}
          {proof !== null && `: ${PROOF_WORDS[proof.kind] ?? proof.kind}`}
          {reorgs > 0 && `; moved or removed by ${reorgs} reorg${reorgs === 1 ? '' : 's'}`}
        </dd>
      </div>
    </>
  )
}
