import type { BlockHeader, RangeCheck } from '../../../shared/events/chain-step.ts'
import { bytesToHex } from '../../../shared/filecoin/bytes.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { CallFailed } from '../rpc/rpc-error.ts'
import type { SecondOpinion } from '../rpc/second-opinion.ts'
import type { TipsetMessages } from './tipset-messages.ts'

/** One endpoint's answer for consecutive final heights. */
export interface RangeAnswer {
  endpoint: RpcEndpoint
  /** One for every height. */
  headers: BlockHeader[]
  /** Tipsets in order; null rounds have none. */
  tipsets: TipsetMessages[]
}

/**
 * Compares a range with a second endpoint's answer, if there is one. Nothing else reveals that an endpoint omitted a
 * message together with its receipt. A contradiction throws a CallFailed and puts neither endpoint aside: the one left
 * alone would be trusted.
 */
export async function checkRange(
  second: SecondOpinion,
  first: RangeAnswer,
  readOn: (endpoint: RpcEndpoint) => Promise<RangeAnswer>,
): Promise<{ answer: RangeAnswer; check: RangeCheck }> {
  const isWide = first.headers.length > 1
  const opinion = await second.on(first, { readOn, isSame: sameRange, isWide })
  const { answer } = opinion
  if (opinion.is === 'alone') return { answer, check: 'one' }
  if (opinion.is === 'agreed') return { answer, check: 'two' }
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
