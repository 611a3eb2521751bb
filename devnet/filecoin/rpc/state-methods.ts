import { actorIdOf, formatAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import { codeOf, codesOfNetworkVersion, NETWORK_VERSION } from '../actors/actor-codes.ts'
import { keyOf } from '../chain/tipset.ts'
import { encodeUtf8 } from '../vm/utf8.ts'
import type { Actor, WorldState } from '../vm/world-state.ts'
import { link, receiptForm } from './forms.ts'
import { read, tipsetAt, type Methods, type Node } from './method.ts'
import * as take from './params.ts'
import { failed, RpcError } from './rpc-error.ts'
import { cidOfBytes } from '../../../shared/filecoin/cid.ts'

const ACTOR_NOT_FOUND = 11

/** Each method reads the state that the tipset's parents left, before the tipset's own messages. */
export const stateMethods: Methods = {
  StateNetworkName: read(0, ({ chain }) => chain.settings.networkName),
  StateNetworkVersion: read(1, () => NETWORK_VERSION),
  StateActorCodeCIDs: read(1, (_, [version]) => {
    const codes = codesOfNetworkVersion(take.integer(version))
    if (codes === undefined) throw failed(`unsupported network version ${String(version)}`)
    return Object.fromEntries([...codes].map(([kind, code]) => [kind, link(code)]))
  }),
  StateGetActor: read(2, (node, [address, key]) => {
    const actor = mustFind(node, address, key)
    return {
      Code: link(codeOf(actor.kind)),
      Head: link(cidOfBytes(encodeUtf8(String(actor.id)))),
      Nonce: actor.nonce,
      Balance: actor.balance.toString(),
      DelegatedAddress: actor.delegated === null ? null : formatAddress(actor.delegated, node.chain.letter),
    }
  }),
  StateReadState: read(2, (node, [address, key]) => {
    const actor = mustFind(node, address, key)
    return {
      Balance: actor.balance.toString(),
      Code: link(codeOf(actor.kind)),
      State: stateForm(node, actor),
    }
  }),
  StateLookupID: read(2, (node, [text, key]) => {
    const address = take.address(text)
    const id = stateAt(node, key).idOf(address)
    if (id === null) throw new RpcError(ACTOR_NOT_FOUND, unresolved(node, address))
    return `${node.chain.letter}0${id}`
  }),
  StateLookupRobustAddress: read(2, (node, [text, key]) => {
    const address = take.address(text)
    const id = actorIdOf(address)
    if (id === null) return formatAddress(address, node.chain.letter)
    const robust = stateAt(node, key).robustOf(Number(id))
    if (robust === null) throw failed('Address key not found')
    return formatAddress(robust, node.chain.letter)
  }),
  StateAccountKey: read(2, (node, [text, key]) => {
    const address = take.address(text)
    if (address.protocol === 1 || address.protocol === 3) return formatAddress(address, node.chain.letter)
    return formatAddress(accountKey(node, address, stateAt(node, key)), node.chain.letter)
  }),
  StateSearchMsg: read(4, (node, [key, cid, lookback]) =>
    searchMessage(node, tipsetAt(node, key).height, take.cid(cid), take.integer(lookback)),
  ),
}

function stateAt(node: Node, key: unknown): WorldState {
  const tipset = tipsetAt(node, key)
  const state = tipset.parent === null ? tipset.state : tipset.parent.state
  if (state === null) throw failed(`loading state tree: ipld: could not find ${tipset.parentStateRoot}`)
  return state
}

function mustFind(node: Node, text: unknown, key: unknown): Actor {
  const address = take.address(text)
  const state = stateAt(node, key)
  if (state.idOf(address) === null) throw failed(unresolved(node, address))
  const actor = state.find(address)
  if (actor === undefined) throw failed('actor not found')
  return actor
}

function unresolved({ chain }: Node, address: FilecoinAddress): string {
  const text = formatAddress(address, chain.letter)
  return `resolution lookup failed (${text}): resolve address ${text}: actor not found`
}

function accountKey(node: Node, address: FilecoinAddress, state: WorldState): FilecoinAddress {
  if (address.protocol === 2) throw failed('cannot resolve actor address to key address')
  const actor = state.find(address)
  if (actor === undefined)
    throw failed(`failed to find actor: ${formatAddress(address, node.chain.letter)}: actor not found`)
  const key = actor.kind === 'account' ? actor.robust : actor.delegated
  if (key === null)
    throw failed(
      `failed to get account actor state for ${node.chain.letter}0${actor.id}: actor code is not account: ${actor.kind}`,
    )
  return key
}

function stateForm(node: Node, { kind, robust, channel, multisig }: Actor): unknown {
  const id = (number: number): string => `${node.chain.letter}0${number}`
  if (channel !== null) {
    const lanes = [...channel.lanes]
      .map(([lane, { redeemed, nonce }]) => `${lane} ${redeemed} ${nonce}`)
      .sort()
    return {
      From: id(channel.from),
      To: id(channel.to),
      ToSend: channel.toSend.toString(),
      SettlingAt: channel.settlingAt,
      MinSettleHeight: channel.minSettleHeight,
      LaneStates: link(cidOfBytes(encodeUtf8(lanes.join()))),
    }
  }
  if (multisig !== null) {
    const { signers, threshold, nextTransaction } = multisig
    return { Signers: signers.map(id), NumApprovalsThreshold: threshold, NextTxnID: nextTransaction }
  }
  if (kind === 'account' && robust !== null) return { Address: formatAddress(robust, node.chain.letter) }
  return {}
}

/**
 * Returns where and how a message was executed; `Height` and `TipSet` are those of the child. Returns null when it was
 * not executed.
 */
function searchMessage({ chain }: Node, fromHeight: number, cid: string, lookback: number): unknown {
  if (chain.pool.find(cid) === undefined && chain.store.block(cid) === undefined) {
    throw failed(`failed to load message: ipld: could not find ${cid}`)
  }
  const execution = chain.executionOf(cid)
  if (execution === undefined || execution.child.height > fromHeight) return null
  if (lookback >= 0 && execution.child.height < fromHeight - lookback) return null
  return {
    Message: link(cid),
    Receipt: receiptForm(execution.receipt),
    ReturnDec: null,
    TipSet: keyOf(execution.child).map(link),
    Height: execution.child.height,
  }
}
