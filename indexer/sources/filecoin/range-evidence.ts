import type { BlockHeader, RangeEvidence } from '../../../shared/events/chain-step.ts'
import { bytesToHex } from '../../../shared/filecoin/bytes.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { CallFailed } from '../rpc/rpc-error.ts'
import type { SecondOpinion } from '../rpc/second-opinion.ts'
import type { ResultsRead } from '../chain-source.ts'
import type { ChainFacts, Tipset } from './decode-tipset.ts'
import type { TipsetMessages } from './tipset-messages.ts'

/** One endpoint's answer for consecutive final heights. */
export interface RangeAnswer {
  endpoint: RpcEndpoint
  /** One for every height. */
  headers: BlockHeader[]
  /** Tipsets in order; null rounds have none. */
  tipsets: TipsetMessages[]
  /** The first of them, if any. */
  first: Tipset | undefined
}

/** How a range was checked. */
interface Checked {
  isProven: boolean
  /** The check without the proof. */
  word: 'two' | 'one'
}

/** Returns whether one endpoint's answer is proven. Headers that hash to their CIDs prove null rounds too. */
export function areProven(tipsets: readonly TipsetMessages[], { areHeadersHashed }: ChainFacts): boolean {
  return areHeadersHashed && tipsets.every(({ isProven }) => isProven)
}

/**
 * Returns the evidence of a range. The last tipset's receipts are proven by a child above the range, which the endpoint may
 * have made up. That tipset is therefore not claimed as proven before the index has its child.
 */
export function evidenceOf(
  { from, to, endpoint }: Omit<RangeEvidence, 'check'>,
  { isProven, word }: Checked,
  tipsets: readonly TipsetMessages[],
): RangeEvidence[] {
  const last = tipsets.at(-1)?.header.number
  if (!isProven || last === undefined) return [{ from, to, endpoint, check: isProven ? 'receipts' : word }]
  const ranges: RangeEvidence[] = [
    { from, to: last - 1, endpoint, check: 'receipts' },
    { from: last, to: last, endpoint, check: word },
    { from: last + 1, to, endpoint, check: 'receipts' },
  ]
  return ranges.filter((range) => range.from <= range.to)
}

/** Returns by which results these tipsets were proven. `first` is the first of them. */
export function resultsOf(
  first: Tipset | undefined,
  tipsets: readonly TipsetMessages[],
  isProven: boolean,
): ResultsRead {
  const shown = first?.commitments
  const blocks = tipsets.map(({ header: { number, hash }, child }) => ({
    ...{ number, hash, root: child.commitments?.parentReceipts ?? '' },
  }))
  return {
    before:
      first === undefined || shown == null ? null : { hash: first.parentKey, root: shown.parentReceipts },
    blocks: isProven ? blocks : [],
  }
}

/**
 * Compares a range with a second endpoint's answer, if there is one. The receipts' root does not show whether a message
 * was replaced by another, and headers do not show which branch is final. A contradiction throws a CallFailed and puts
 * neither endpoint aside: the one left alone would be trusted.
 */
export async function checkRange(
  second: SecondOpinion,
  first: RangeAnswer,
  readOn: (endpoint: RpcEndpoint) => Promise<RangeAnswer>,
  facts: ChainFacts,
): Promise<Checked & { answer: RangeAnswer }> {
  const isWide = first.headers.length > 1
  const opinion = await second.on(first, { readOn, isSame: sameRange, isWide })
  const { answer } = opinion
  const isProven = areProven(answer.tipsets, facts)
  if (opinion.is === 'alone') return { answer, isProven, word: 'one' }
  if (opinion.is === 'agreed') return { answer, isProven, word: 'two' }
  const both = `${describe(answer)}, but ${describe(opinion.other)}`
  throw new CallFailed(`${span(first)}: ${both}: they contradict each other`, 'other')
}

function sameRange(left: RangeAnswer, right: RangeAnswer): boolean {
  return fingerprint(left) === fingerprint(right)
}

function fingerprint({ headers, tipsets }: RangeAnswer): string {
  return JSON.stringify([
    headers.map(({ hash }) => hash),
    tipsets.flatMap(({ header, executed }) =>
      executed.map(({ cid, index, returned }) => [header.number, cid, index, bytesToHex(returned)]),
    ),
  ])
}

function span({ headers }: RangeAnswer): string {
  return `blocks ${headers[0]?.number ?? '?'} to ${headers.at(-1)?.number ?? '?'}`
}

function describe({ endpoint, tipsets }: RangeAnswer): string {
  const messages = tipsets.reduce((sum, { executed }) => sum + executed.length, 0)
  return `${endpoint.label} gives ${tipsets.length} tipsets with ${messages} messages that could be channels’`
}
