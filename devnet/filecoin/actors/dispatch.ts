import { encodeAddress } from '../../../shared/filecoin/address.ts'
import { encodeCbor } from '../../../shared/filecoin/cbor.ts'
import { ActorExit, Exit } from '../vm/exit-codes.ts'
import type { Call, Machine } from '../vm/machine.ts'
import { initActor } from './init-actor.ts'
import { multisigActor } from './multisig-actor.ts'
import { paymentChannelActor } from './payment-channel-actor.ts'

const EMPTY = new Uint8Array()
/** Accounts accept every method from this number on; interfaces are called by hashed numbers. */
const FIRST_EXPORTED_METHOD = 1n << 24n
export const INVOKE_EVM = 3_844_450_837n

export function dispatch(machine: Machine, call: Call): Uint8Array {
  switch (call.receiver.kind) {
    case 'init':
      return initActor(machine, call)
    case 'paymentchannel':
      return paymentChannelActor(machine, call)
    case 'multisig':
      return multisigActor(machine, call)
    case 'account':
      return account(call)
    case 'evm':
      return contract(machine, call)
    case 'bulletin':
      // Accepts everything and does nothing: methods 2, 3 and 4 succeed here too.
      return EMPTY
    case 'ethaccount':
    case 'placeholder':
      if (call.method >= FIRST_EXPORTED_METHOD) return EMPTY
      throw unhandled()
    case 'system':
      throw unhandled()
  }
}

/** Method 2 returns the key to any caller. */
function account({ method, receiver }: Call): Uint8Array {
  if (method === 2n && receiver.robust !== null) return encodeCbor(encodeAddress(receiver.robust))
  if (method >= FIRST_EXPORTED_METHOD) return EMPTY
  throw unhandled()
}

/** A contract that emits its input as an event and returns it. */
function contract(machine: Machine, { method, params }: Call): Uint8Array {
  if (method !== INVOKE_EVM) throw unhandled()
  machine.events = encodeCbor([params])
  return encodeCbor(params)
}

function unhandled(): ActorExit {
  return new ActorExit(Exit.unhandledMethod, 'the receiver has no such method')
}
