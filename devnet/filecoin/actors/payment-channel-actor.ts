import { sameBytes } from '../../../shared/filecoin/bytes.ts'
import { DecodeError } from '../../../shared/filecoin/decode-error.ts'
import { idAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import { decodeConstructorParams } from '../../../shared/filecoin/init-actor.ts'
import { decodeUpdateParams, type UpdateParams } from '../../../shared/filecoin/payment-channel.ts'
import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import { voucherSigningBytes, type SignedVoucher } from '../../../shared/filecoin/voucher.ts'
import { ActorExit, Exit } from '../vm/exit-codes.ts'
import type { Call, Machine } from '../vm/machine.ts'
import type { ChannelState, LaneState } from '../vm/world-state.ts'

const EMPTY = new Uint8Array()
const MAX_SECRET_BYTES = 256
const MAX_LANE = (1n << 63n) - 1n
/** The CBOR head of an array of two; since actors version 2 there is no third element. */
const TUPLE_OF_TWO = 0x82

/** The payment channel's methods, with the checks of the chain's own actor in their order. */
export function paymentChannelActor(machine: Machine, call: Call): Uint8Array {
  switch (call.method) {
    case 1n:
      throw new ActorExit(Exit.forbidden, 'only Init may construct a channel')
    case 2n:
      return update(machine, call)
    case 3n:
      return settle(machine, call)
    case 4n:
      return collect(machine, call)
    default:
      throw new ActorExit(Exit.unhandledMethod, 'a channel has no such method')
  }
}

/** Returns the state of a channel that Init creates. Parties without an account get one, `to` first. */
export function constructChannel(machine: Machine, params: Uint8Array): ChannelState {
  const parties = decoded(() => decodeConstructorParams(params))
  const to = party(machine, parties.to)
  const from = party(machine, parties.from)
  return { from, to, toSend: 0n, settlingAt: 0n, minSettleHeight: 0n, lanes: new Map() }
}

function party(machine: Machine, address: FilecoinAddress): number {
  const id = machine.resolveOrCreate(address)
  if (id === null) throw new ActorExit(Exit.notFound, 'a party does not exist')
  return id
}

function update(machine: Machine, call: Call): Uint8Array {
  const { params, voucher, secret } = updateParams(call.params)
  const state = stateForParty(call)
  const { epoch } = machine.around
  if (voucher.signature === null) throw illegal('the voucher has no signature')
  if (state.settlingAt !== 0n && BigInt(epoch) >= state.settlingAt) {
    throw new ActorExit(Exit.channelSettled, 'the channel has settled')
  }
  if (secret.length > MAX_SECRET_BYTES) throw illegal('the secret is too long')
  checkSignature(machine, call, state, voucher)
  checkTerms(machine, call, params)
  if (voucher.extra !== null) {
    const { actor, method, data } = voucher.extra
    machine.send(call.receiver.id, actor, 0n, method, data)
  }
  // The extra call may have changed this very channel.
  const { balance, channel } = machine.must(call.receiver.id)
  const redeemed = redeem(channel ?? state, voucher, balance)
  machine.update(call.receiver.id, { channel: redeemed })
  return EMPTY
}

function updateParams(bytes: Uint8Array): UpdateParams & { params: UpdateParams } {
  if (bytes.length === 0) throw illegal('parameters are missing')
  const params = decoded(() => decodeUpdateParams(bytes))
  if (bytes[0] !== TUPLE_OF_TWO) throw new ActorExit(Exit.undecodable, 'not two elements')
  return { ...params, params }
}

/** The voucher is the other party's promise, so the sender of a redemption is never its signer. */
function checkSignature(machine: Machine, call: Call, state: ChannelState, voucher: SignedVoucher): void {
  const { signature } = voucher
  const signer = machine.state.actor(call.caller.id === state.from ? state.to : state.from)
  const key = signer?.kind === 'account' ? signer.robust : null
  if (signature === null || key === null) throw illegal('the other party cannot sign')
  if (!machine.around.checks.verify(voucherSigningBytes(voucher), signature, key)) {
    throw illegal('the signature is not the other party’s')
  }
}

function checkTerms(machine: Machine, call: Call, { voucher, secret }: UpdateParams): void {
  const epoch = BigInt(machine.around.epoch)
  if (machine.state.idOf(voucher.channelAddr) !== call.receiver.id) throw illegal('for another channel')
  if (epoch < voucher.timeLockMin) throw illegal('not valid yet')
  if (voucher.timeLockMax !== 0n && epoch > voucher.timeLockMax) throw illegal('no longer valid')
  if (voucher.amount < 0n) throw illegal('the amount is negative')
  if (voucher.secretHash.length > 0 && !sameBytes(blake2b256(secret), voucher.secretHash)) {
    throw illegal('not the secret')
  }
}

function redeem(state: ChannelState, voucher: SignedVoucher, balance: bigint): ChannelState {
  const lanes = new Map(state.lanes)
  const lane = laneOf(lanes, voucher.lane)
  if (lane !== undefined && lane.nonce >= voucher.nonce) throw illegal('the nonce is outdated')
  const others = mergeLanes(lanes, voucher)
  const toSend = state.toSend + voucher.amount - (others + (lane?.redeemed ?? 0n))
  if (toSend < 0n) throw illegal('the channel would owe less than nothing')
  if (toSend > balance) throw illegal('not enough funds in the channel')
  lanes.set(String(voucher.lane), { redeemed: voucher.amount, nonce: voucher.nonce })
  return { ...state, ...laterSettle(state, voucher.minSettleHeight), toSend, lanes }
}

/** Returns the amount already redeemed on the merged lanes and advances their nonces. */
function mergeLanes(lanes: Map<string, LaneState>, voucher: SignedVoucher): bigint {
  let redeemed = 0n
  for (const merge of voucher.merges) {
    if (merge.lane === voucher.lane) throw illegal('a lane is merged into itself')
    const other = laneOf(lanes, merge.lane)
    if (other === undefined) throw illegal('a merged lane does not exist')
    if (other.nonce >= merge.nonce) throw illegal('a merged lane’s nonce is outdated')
    redeemed += other.redeemed
    lanes.set(String(merge.lane), { redeemed: other.redeemed, nonce: merge.nonce })
  }
  return redeemed
}

function laneOf(lanes: ReadonlyMap<string, LaneState>, lane: bigint): LaneState | undefined {
  if (lane > MAX_LANE) throw illegal('the lane is too high')
  return lanes.get(String(lane))
}

function laterSettle(
  state: ChannelState,
  minSettleHeight: bigint,
): Pick<ChannelState, 'settlingAt' | 'minSettleHeight'> {
  const { settlingAt } = state
  const moves = minSettleHeight !== 0n && settlingAt !== 0n && settlingAt < minSettleHeight
  return {
    settlingAt: moves ? minSettleHeight : settlingAt,
    minSettleHeight: minSettleHeight > state.minSettleHeight ? minSettleHeight : state.minSettleHeight,
  }
}

function settle(machine: Machine, call: Call): Uint8Array {
  refuseParams(call)
  const state = stateForParty(call)
  if (state.settlingAt !== 0n) throw new ActorExit(Exit.illegalState, 'the channel is settling already')
  const earliest = BigInt(machine.around.epoch + machine.around.settleDelayEpochs)
  const settlingAt = earliest < state.minSettleHeight ? state.minSettleHeight : earliest
  machine.update(call.receiver.id, { channel: { ...state, settlingAt } })
  return EMPTY
}

/** Pays `toSend` to `to` and the rest to `from`, then deletes the actor. */
function collect(machine: Machine, call: Call): Uint8Array {
  refuseParams(call)
  const state = stateForParty(call)
  if (state.settlingAt === 0n || BigInt(machine.around.epoch) < state.settlingAt) {
    throw new ActorExit(Exit.forbidden, 'the channel has not settled')
  }
  const { id } = call.receiver
  machine.send(id, idAddress(BigInt(state.to)), state.toSend, 0n, EMPTY)
  machine.send(id, idAddress(BigInt(state.from)), machine.must(id).balance, 0n, EMPTY)
  machine.state = machine.state.remove(id)
  return EMPTY
}

function stateForParty(call: Call): ChannelState {
  const state = call.receiver.channel
  if (state === null) throw new ActorExit(Exit.illegalState, 'no channel')
  if (call.caller.id !== state.from && call.caller.id !== state.to) {
    throw new ActorExit(Exit.forbidden, 'the caller is no party')
  }
  return state
}

function refuseParams(call: Call): void {
  if (call.params.length > 0) throw illegal('unexpected parameters')
}

function illegal(reason: string): ActorExit {
  return new ActorExit(Exit.illegalArgument, reason)
}

export function decoded<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    if (error instanceof DecodeError) throw new ActorExit(Exit.undecodable, error.message)
    throw error
  }
}
