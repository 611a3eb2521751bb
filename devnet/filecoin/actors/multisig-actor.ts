import { decodeBigInt } from '../../../shared/filecoin/big-integer.ts'
import {
  readAddress,
  readArray,
  readBytes,
  readInt64,
  readTuple,
  readUint64,
} from '../../../shared/filecoin/cbor-fields.ts'
import { decodeCbor, encodeCbor } from '../../../shared/filecoin/cbor.ts'
import { ActorExit, Exit } from '../vm/exit-codes.ts'
import type { Call, Machine } from '../vm/machine.ts'
import type { MultisigState, ProposedTransaction } from '../vm/world-state.ts'
import { decoded } from './payment-channel-actor.ts'

const EMPTY = new Uint8Array()

/**
 * A wallet of several signers. It tests two things in a channel indexer: another actor with methods 2, 3 and 4, and a
 * party whose messages appear in no block.
 */
export function multisigActor(machine: Machine, call: Call): Uint8Array {
  const state = stateForSigner(call)
  switch (call.method) {
    case 2n:
      return propose(machine, call, state)
    case 3n:
      return approve(machine, call, state)
    case 4n:
      return cancel(machine, call, state)
    default:
      throw new ActorExit(Exit.unhandledMethod, 'a multisig has no such method')
  }
}

/** Constructor parameters are signers, needed approvals, unlock duration and start epoch. The devnet locks no funds. */
export function constructMultisig(machine: Machine, params: Uint8Array): MultisigState {
  const [signers, threshold] = decoded(() => {
    const items = readTuple(decodeCbor(params), [4], 'multisig constructor params')
    const addresses = readArray(items[0], 'signers').map((item) => readAddress(item, 'signer'))
    return [addresses, Number(readUint64(items[1], 'approvals'))] as const
  })
  const ids = signers.map((signer) => machine.resolveOrCreate(signer))
  if (ids.includes(null)) throw new ActorExit(Exit.notFound, 'a signer does not exist')
  if (threshold < 1 || threshold > ids.length) throw new ActorExit(Exit.illegalArgument, 'so many approvals')
  return { signers: ids.filter((id) => id !== null), threshold, nextTransaction: 0, pending: new Map() }
}

/** Returns `[number, applied, exit code, return]`. */
function propose(machine: Machine, call: Call, state: MultisigState): Uint8Array {
  const number = state.nextTransaction
  const transaction = decoded(() => {
    const [to, value, method, params] = readTuple(decodeCbor(call.params), [4], 'Propose params')
    return {
      to: readAddress(to, 'to'),
      value: decodeBigInt(readBytes(value, 'value'), 'value'),
      method: readUint64(method, 'method'),
      params: readBytes(params, 'params'),
      approved: [call.caller.id],
    }
  })
  const pending = new Map(state.pending).set(number, transaction)
  machine.update(call.receiver.id, { multisig: { ...state, nextTransaction: number + 1, pending } })
  const outcome = perform(machine, call.receiver.id, number, transaction)
  return encodeCbor([number, ...outcome])
}

/** Returns `[applied, exit code, return]`. */
function approve(machine: Machine, call: Call, state: MultisigState): Uint8Array {
  const { number, transaction } = named(call, state)
  if (transaction.approved.includes(call.caller.id)) throw new ActorExit(Exit.forbidden, 'approved already')
  const approved = { ...transaction, approved: [...transaction.approved, call.caller.id] }
  setPending(machine, call.receiver.id, number, approved)
  return encodeCbor(perform(machine, call.receiver.id, number, approved))
}

function cancel(machine: Machine, call: Call, state: MultisigState): Uint8Array {
  const { number, transaction } = named(call, state)
  if (transaction.approved[0] !== call.caller.id)
    throw new ActorExit(Exit.forbidden, 'another one proposed it')
  setPending(machine, call.receiver.id, number, undefined)
  return EMPTY
}

/** Sends the multisig's call once enough signers approved. A failed call also ends the transaction. */
function perform(
  machine: Machine,
  id: number,
  number: number,
  { to, value, method, params, approved }: ProposedTransaction,
): [boolean, number, Uint8Array] {
  if (approved.length < (machine.must(id).multisig?.threshold ?? Infinity)) return [false, 0, EMPTY]
  setPending(machine, id, number, undefined)
  try {
    return [true, Exit.ok, machine.send(id, to, value, method, params)]
  } catch (error) {
    if (error instanceof ActorExit) return [true, error.code, EMPTY]
    throw error
  }
}

function named(call: Call, state: MultisigState): { number: number; transaction: ProposedTransaction } {
  const number = decoded(() =>
    Number(readInt64(readTuple(decodeCbor(call.params), [2], 'params')[0], 'transaction')),
  )
  const transaction = state.pending.get(number)
  if (transaction === undefined) throw new ActorExit(Exit.notFound, 'no such transaction')
  return { number, transaction }
}

function setPending(
  machine: Machine,
  id: number,
  number: number,
  transaction: ProposedTransaction | undefined,
): void {
  const { multisig } = machine.must(id)
  if (multisig === null) return
  const pending = new Map(multisig.pending)
  if (transaction === undefined) pending.delete(number)
  else pending.set(number, transaction)
  machine.update(id, { multisig: { ...multisig, pending } })
}

function stateForSigner(call: Call): MultisigState {
  const state = call.receiver.multisig
  if (state === null) throw new ActorExit(Exit.illegalState, 'no multisig')
  if (call.params.length === 0) throw new ActorExit(Exit.illegalArgument, 'parameters are missing')
  if (!state.signers.includes(call.caller.id)) throw new ActorExit(Exit.forbidden, 'not a signer')
  return state
}
