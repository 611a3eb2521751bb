import { concernsNobody, NOT_OURS } from './decode-executed.ts'
import { HashedBlock } from './proof/hashed-block.ts'

/**
 * Removes from a node's parsed answers, in place, what no decoder reads, and returns them. Most messages of a network
 * concern no channel, and proofs are most of a tipset. Thousands are parsed before the first is decoded, and each
 * garbage collection copies what is kept. Malformed values stay, so that the decoder reports them.
 */
export function leanAnswers(parsed: unknown): unknown {
  if (!Array.isArray(parsed)) {
    makeLean(parsed)
    return parsed
  }
  for (const answer of parsed) makeLean(answer)
  return parsed
}

/** `answer` is the answer to one call. */
function makeLean(answer: unknown): void {
  if (!isRecord(answer)) return
  const { result } = answer
  if (Array.isArray(result))
    answer['result'] = result.map((item: unknown) => (concernsNobody(item) ? NOT_OURS : item))
  else if (isRecord(result) && Array.isArray(result['Blocks']))
    result['Blocks'] = result['Blocks'].map(leanBlock)
}

/** Keeps what `decodeTipset` reads of a block. */
function leanBlock(block: unknown): unknown {
  return isRecord(block) ? new HashedBlock(block) : block
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
