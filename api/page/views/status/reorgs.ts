/** (pure) Finds the reorgs that moved or took back the newest records, in their origins. */
import type { ProvenanceAnswer } from '../../../../client/generated/types.gen.ts'

export type Origin = ProvenanceAnswer['payload']

export interface ReorgTrace {
  id: number
  event: string
  op: string
  /** ISO time at which the log got the entry. */
  at: string
}

/** Entries that a reorg caused, newest first. */
export function reorgsOf(origins: readonly Origin[]): ReorgTrace[] {
  return origins
    .flatMap(({ record, history }) =>
      history
        .filter(({ cause }) => cause === 'reorg')
        .map(({ op, recordedAt }) => ({ id: record.id, event: record.event, op, at: recordedAt })),
    )
    .sort((one, other) => (one.at < other.at ? 1 : -1))
}
