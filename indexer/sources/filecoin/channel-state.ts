import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { formatAddress, parseAddress, type NetworkLetter } from '../../../shared/filecoin/address.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcAnswer } from '../rpc/rpc-endpoint.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import { amount, integer, record } from './decode-json.ts'
import { askState } from './state-calls.ts'

/** A channel's state at the end of a block, from a node: attoFIL as decimal text, epochs, parties as ID addresses. */
export interface ChannelState {
  id: string
  from: string
  to: string
  balance: string
  /** The part of the balance that goes to `to`. */
  toSend: string
  /** 0 while the channel is not settling. */
  settlingAt: number
  minSettleHeight: number
}

/** `reason` explains why no state is known; a collected channel no longer exists. */
export type ChannelAnswer = ({ found: true } & ChannelState) | { found: false; reason: string }

/**
 * Returns the channel's state at the start of tipset `at`, that is, after its parents' messages. Throws a
 * RetryableError while an endpoint may still know it.
 */
export async function readChannelState(
  client: RpcClient,
  letter: NetworkLetter,
  robust: string,
  block: BlockRef,
  at: string,
): Promise<ChannelAnswer> {
  const [state, id] = await askState(client, `channel ${robust} at ${block.number}`, [
    { method: 'StateReadState', params: [robust], at },
    { method: 'StateLookupID', params: [robust], at },
  ])
  if (state?.ok !== true) return { found: false, reason: reasonOf(state) }
  if (id?.ok !== true) return { found: false, reason: reasonOf(id) }
  const fields = channelFields(state.result)
  if (fields === null) return { found: false, reason: 'the actor is no payment channel' }
  return { found: true, id: addressText(id.result, letter), ...readFields(fields, letter) }
}

/** Returns the epoch from which the channel can be collected; null when the actor is no channel or is not settling. */
export function settlingAtOf(answer: RpcAnswer | undefined): number | null {
  const fields = answer?.ok === true ? channelFields(answer.result) : null
  if (fields === null) return null
  const epoch = Number(integer(fields.state['SettlingAt'], 'SettlingAt'))
  return epoch > 0 ? epoch : null
}

interface Fields {
  balance: unknown
  state: Record<string, unknown>
}

function channelFields(value: unknown): Fields | null {
  const actor = record(value, 'actor state')
  const { Balance: balance, State: state } = actor
  if (typeof state !== 'object' || state === null || !('SettlingAt' in state) || !('ToSend' in state))
    return null
  return { balance, state: record(state, 'channel state') }
}

function readFields({ balance, state }: Fields, letter: NetworkLetter): Omit<ChannelState, 'id'> {
  return {
    from: addressText(state['From'], letter),
    to: addressText(state['To'], letter),
    balance: amount(balance, 'channel balance').toString(),
    toSend: amount(state['ToSend'], 'channel ToSend').toString(),
    settlingAt: Number(integer(state['SettlingAt'], 'channel SettlingAt')),
    minSettleHeight: Number(integer(state['MinSettleHeight'], 'channel MinSettleHeight')),
  }
}

function addressText(value: unknown, letter: NetworkLetter): string {
  const address = typeof value === 'string' ? parseAddress(value) : null
  if (address === null) throw new BadAnswer('channel state: an address that is none')
  return formatAddress(address, letter)
}

function reasonOf(answer: RpcAnswer | undefined): string {
  return answer?.ok === false ? answer.message : 'no answer'
}
