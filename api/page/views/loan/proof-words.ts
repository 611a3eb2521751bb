/** (pure) `proof.kind` of a record's origin in words. */
export const PROOF_WORDS: Record<string, string> = {
  two: 'two endpoints said the same',
  bloom: 'the blocks’ blooms exclude what was left out',
  one: 'one endpoint’s word alone',
}
