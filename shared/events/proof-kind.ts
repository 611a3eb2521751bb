/** How it is known that nothing is missing from a range of blocks, strongest first (docs/proof.md). */
export const PROOF_KINDS = ['receipts', 'state', 'bloom', 'two', 'one'] as const
export type ProofKind = (typeof PROOF_KINDS)[number]

/** (pure) The weakest of the kinds; `one` for none and for unknown words, so that nothing is claimed without a check. */
export function weakestProof(kinds: readonly string[]): ProofKind {
  const ranks = kinds.map((kind) => PROOF_KINDS.findIndex((known) => known === kind))
  return ranks.length === 0 || ranks.includes(-1) ? 'one' : (PROOF_KINDS[Math.max(...ranks)] ?? 'one')
}
