import { decodeExecParams } from '../../../shared/filecoin/init-actor.ts'
import { idAddress } from '../../../shared/filecoin/address.ts'
import { ActorExit, Exit } from '../vm/exit-codes.ts'
import type { Call, Machine } from '../vm/machine.ts'
import { kindOfCode } from './actor-codes.ts'
import { constructMultisig } from './multisig-actor.ts'
import { constructChannel, decoded } from './payment-channel-actor.ts'
import { encodeExecReturn } from '../codec.ts'

/**
 * Creates payment channels and multisigs of today's code for any caller. The new actor takes the next number; accounts
 * that its constructor creates take later numbers.
 */
export function initActor(machine: Machine, call: Call): Uint8Array {
  if (call.method !== 2n) throw new ActorExit(Exit.unhandledMethod, 'Init has Exec only')
  if (call.params.length === 0) throw new ActorExit(Exit.illegalArgument, 'parameters are missing')
  const { codeCid, params } = decoded(() => decodeExecParams(call.params))
  const kind = kindOfCode(codeCid)
  if (kind !== 'paymentchannel' && kind !== 'multisig') {
    throw new ActorExit(Exit.forbidden, 'not a code that may be made')
  }
  const robust = machine.nextActorAddress()
  const id = machine.create({ kind, robust })
  // Init held the value until here.
  machine.update(call.receiver.id, { balance: machine.must(call.receiver.id).balance - call.value })
  machine.update(id, { balance: call.value })
  if (kind === 'paymentchannel') machine.update(id, { channel: constructChannel(machine, params) })
  else machine.update(id, { multisig: constructMultisig(machine, params) })
  return encodeExecReturn(idAddress(BigInt(id)), robust)
}
