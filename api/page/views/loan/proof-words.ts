/** (pure) `proof.kind` of a record's origin in words. */
export const PROOF_WORDS: Record<string, string> = {
  receipts: 'the header’s hash commits to the receipts',
  state: 'equal to proven contract state',
  two: 'two endpoints said the same',
  bloom: 'the blocks’ blooms exclude what was left out',
  one: 'one endpoint’s word alone',
}
