import type { BlockHeader, RangeCheck } from '../../../shared/events/chain-step.ts'
import { bytesToHex } from '../../../shared/filecoin/bytes.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { CallFailed } from '../rpc/rpc-error.ts'
import type { SecondOpinion } from '../rpc/second-opinion.ts'
import type { ChainFacts } from './decode-tipset.ts'
import type { TipsetMessages } from './tipset-messages.ts'

/** One endpoint's answer for consecutive final heights. */
export interface RangeAnswer {
  endpoint: RpcEndpoint
  /** One for every height. */
  headers: BlockHeader[]
  /** Tipsets in order; null rounds have none. */
  tipsets: TipsetMessages[]
}

/** Returns how one endpoint's answer was checked. Headers that hash to their CIDs prove null rounds too. */
export function ownCheck(tipsets: readonly TipsetMessages[], { areHeadersHashed }: ChainFacts): RangeCheck {
  return areHeadersHashed && tipsets.every(({ isProven }) => isProven) ? 'receipts' : 'one'
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
): Promise<{ answer: RangeAnswer; check: RangeCheck }> {
  const isWide = first.headers.length > 1
  const opinion = await second.on(first, { readOn, isSame: sameRange, isWide })
  const { answer } = opinion
  const check = ownCheck(answer.tipsets, facts)
  if (opinion.is === 'alone') return { answer, check }
  if (opinion.is === 'agreed') return { answer, check: check === 'one' ? 'two' : check }
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
