/** (pure) How the newest records were confirmed, and what reorgs did to them, as their origins tell. */
import type { ProvenanceAnswer } from '../../../../client/generated/types.gen.ts'

export type Origin = ProvenanceAnswer['payload']

export interface ProofCount {
  network: string
  /** Counts by `proof.kind`. */
  kinds: { kind: 'two' | 'bloom' | 'one'; count: number }[]
  /** Checks of the ranges, most frequent first. */
  checks: string[]
}

export function proofsOf(origins: readonly Origin[]): ProofCount[] {
  const networks = [...new Set(origins.flatMap(({ network }) => network ?? []))].sort()
  return networks.map((network) => {
    const proofs = origins.filter((origin) => origin.network === network).flatMap(({ proof }) => proof ?? [])
    const kinds = (['two', 'bloom', 'one'] as const).map((kind) => ({
      kind,
      count: proofs.filter((proof) => proof.kind === kind).length,
    }))
    const checks = [...new Set(proofs.flatMap(({ checks }) => checks))].sort()
    return { network, kinds: kinds.filter(({ count }) => count > 0), checks }
  })
}

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
