import { pause } from '../../shared/async/pause.ts'
import type { BlockRef } from '../../shared/events/chain-step.ts'
import type { ChainPosition } from '../event-log/chain-position.ts'
import { ingestReading } from '../ingest/ingest-reading.ts'
import { readAgain } from '../read-again.ts'
import { sameJson } from '../watched-networks.ts'
import { compareLoans, type LoanOfContract, type ProvenIndex } from './compare-loans.ts'
import { searchDifference } from './search-block.ts'

/** Blocks that are corrected for one loan at once; a loan has at most some ten events. */
const MOST_BLOCKS = 20

export interface CorrectedIndex extends ProvenIndex {
  blockchain: string
  /** The watched contracts; a log of other contracts is left as it is. */
  watched: unknown
  signal: AbortSignal
  /** Milliseconds between two steps of a search. */
  stepPauseMs: number
}

export interface Correction {
  /** Number of blocks that changed the log; 0 if another loan's correction had corrected this one too. */
  blocks: number
  /** Why the loan still differs; null if it agrees. */
  reason: string | null
}

/**
 * Finds the blocks in which the log lacks or changes an event of a loan that differs at a final block, reads them again by
 * their receipts, and appends what differs. Throws a RetryableError when an endpoint lacks an older state or a block's
 * receipts.
 */
export async function correctLoan(
  index: CorrectedIndex,
  loan: LoanOfContract,
  final: BlockRef,
): Promise<Correction> {
  const { source, signal, stepPauseMs } = index
  const isEqualAt = async (block: BlockRef): Promise<boolean> =>
    (await compareLoans(index, [loan], block)).every(({ differences }) => differences.length === 0)
  const start = source.contracts.find(({ role }) => role === loan.role)?.startBlock ?? source.startBlock
  for (let blocks = 0; blocks < MOST_BLOCKS; blocks += 1) {
    // A block that was read again for another loan may have corrected this one.
    if (await isEqualAt(final)) return { blocks, reason: null }
    // Before the first block that was read, neither log nor contract has the loan.
    const found = await searchDifference(
      start - 1,
      final.number,
      async (number) => {
        await pause(stepPauseMs, signal)
        return isEqualAt(await source.finalHeader(final, number))
      },
      signal,
    )
    if (found === null) return { blocks, reason: 'the search was interrupted' }
    const outcome = await correctBlock(index, found, final)
    if (outcome !== 'changed') return { blocks, reason: outcome }
  }
  return { blocks: MOST_BLOCKS, reason: `it still differs after ${MOST_BLOCKS} blocks were read again` }
}

/** Reads a block again by its receipts. An answer that proves less changes nothing. */
async function correctBlock(
  { db, network, blockchain, watched, source, signal }: CorrectedIndex,
  block: number,
  final: BlockRef,
): Promise<string> {
  const span = { from: block, to: block, final, isProven: true }
  for await (const reading of readAgain(source, span, signal)) {
    // Evidence of kind `bloom` does not do: invented logs can make the same bloom as ours.
    const isProven =
      reading.evidence.every(({ check }) => check === 'receipts') || (await source.excludesOurs(reading.last))
    if (!isProven) return `no endpoint proves block ${block} by its receipts`
    const isFit = (position: ChainPosition): boolean => sameJson(position.watched, watched)
    const corrections = await ingestReading(db, { network, blockchain }, null, reading, isFit)
    if (corrections === undefined) break
    const { appended, replaced, retracted } = corrections
    return appended + replaced + retracted > 0 ? 'changed' : `block ${block} reads the same again`
  }
  return `block ${block} could not be read again`
}
