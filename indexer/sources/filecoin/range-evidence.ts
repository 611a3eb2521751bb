import type { BlockHeader, RangeCheck } from '../../../shared/events/chain-step.ts'
import { bytesToHex } from '../../../shared/filecoin/bytes.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { CallFailed } from '../rpc/rpc-error.ts'
import type { Witness } from '../rpc/witness.ts'
import type { TipsetMessages } from './tipset-messages.ts'

/** One endpoint's word on consecutive final heights. */
export interface RangeAnswer {
  endpoint: RpcEndpoint
  /** One for every height. */
  headers: BlockHeader[]
  /** In order; null rounds have none. */
  tipsets: TipsetMessages[]
}

/**
 * Compares a range with what a second endpoint says of it, where there is one: a message that is left out together
 * with its receipt shows nowhere else. Each side is asked twice before they count as contradicting each other; then nothing
 * is taken from either of them. That is a CallFailed, which puts nobody aside: left alone, one of them would be believed.
 */
export async function checkRange(
  witness: Witness,
  answer: RangeAnswer,
  readOn: (endpoint: RpcEndpoint) => Promise<RangeAnswer>,
): Promise<{ answer: RangeAnswer; check: RangeCheck }> {
  const isWide = answer.headers.length > 1
  const other = await witness.ask(answer.endpoint, readOn, { isWide })
  if (other === null) return { answer, check: 'unchecked' }
  if (sameRange(answer, other)) return { answer, check: 'second-endpoint' }
  const again = await readOn(answer.endpoint)
  if (sameRange(again, other)) return { answer: again, check: 'second-endpoint' }
  const otherAgain = await witness.ask(answer.endpoint, readOn, { isWide })
  if (otherAgain === null) throw new CallFailed('nobody is left to bear out what was contradicted', 'other')
  if (sameRange(again, otherAgain)) return { answer: again, check: 'second-endpoint' }
  const said = `${describe(again)}, but ${describe(otherAgain)}`
  throw new CallFailed(`${span(answer)}: ${said}: they contradict each other`, 'other')
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
