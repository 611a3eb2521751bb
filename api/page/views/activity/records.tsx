import type { ActivityRecord } from '../../../../client/index.ts'
import { Badge } from '../../components/badge.tsx'
import { Hash, LoanLink } from '../../components/names.tsx'
import { Table, type Column } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { isSigning, marketWords } from '../../lib/events.ts'
import { clip, eventWords } from '../../lib/format.ts'

export function EventName({ record: { event, blockchain } }: { record: ActivityRecord }) {
  return (
    <span class="row event" title={clip(event)}>
      <Badge tone={blockchain === 'FIL' ? 'fil' : 'evm'}>{clip(blockchain, 16)}</Badge>
      <span>{eventWords(event)}</span>
    </span>
  )
}

const COLUMNS: Column<ActivityRecord>[] = [
  { title: 'Event', cell: (record) => <EventName record={record} /> },
  {
    title: 'Loan',
    cell: (record) => (
      <span title={marketWords(record.loanType)}>
        <LoanLink {...record} />
      </span>
    ),
  },
  {
    title: 'Hash',
    cell: ({ txHash, networkId, event }) => (
      <Hash of={txHash} networkId={networkId} isVoucher={isSigning(event)} />
    ),
  },
  { title: 'Network', cell: ({ networkId }) => <bdi>{clip(networkId, 32)}</bdi> },
  {
    title: 'Record',
    isNumber: true,
    cell: ({ id }) => (
      <a href={`api/activity/${id}`} title="This record and its origin, as JSON">
        {id}
      </a>
    ),
  },
  { title: 'Indexed', isNumber: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
]

/** `changes` has what a reorg did to shown records: null took one away. */
export function Records({
  records,
  changes = new Map(),
}: {
  records: ActivityRecord[]
  changes?: ReadonlyMap<number, ActivityRecord | null>
}) {
  const now = records.map((record) => changes.get(record.id) ?? record)
  const columns: Column<ActivityRecord>[] = [
    {
      title: 'Event',
      cell: (record) => (
        <span class="row event">
          <EventName record={record} />
          {changes.get(record.id) === null && <Badge tone="bad">taken back by a reorg</Badge>}
        </span>
      ),
    },
    ...COLUMNS.slice(1),
  ]
  return (
    <Table
      caption="Records of the history, newest first"
      columns={columns}
      rows={now}
      keyOf={({ id }) => id}
      classOf={({ id }) => (changes.get(id) === null ? 'gone' : undefined)}
    />
  )
}
