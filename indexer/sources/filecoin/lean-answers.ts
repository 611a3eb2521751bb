import { concernsNobody, NOT_OURS } from './decode-executed.ts'

/**
 * Takes what nobody will read out of a node's answers as they were parsed, in place, and returns them: most messages of a network
 * are no channel's, and a tipset's proofs are most of it. Thousands are parsed before the first is looked at, and what is kept until
 * then is copied by each collection of garbage. What is not as it should be stays, for whoever decodes it to complain.
 */
export function leanAnswers(parsed: unknown): unknown {
  if (!Array.isArray(parsed)) {
    makeLean(parsed)
    return parsed
  }
  for (const answer of parsed) makeLean(answer)
  return parsed
}

/** An answer to one call. */
function makeLean(answer: unknown): void {
  if (!isRecord(answer)) return
  const { result } = answer
  if (Array.isArray(result))
    answer['result'] = result.map((item: unknown) => (concernsNobody(item) ? NOT_OURS : item))
  else if (isRecord(result) && Array.isArray(result['Blocks']))
    result['Blocks'] = result['Blocks'].map(leanBlock)
}

/** The fields of a block that `decodeTipset` reads. */
function leanBlock(block: unknown): unknown {
  if (!isRecord(block)) return block
  const { Height, Parents, Timestamp } = block
  return { Height, Parents, Timestamp }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
