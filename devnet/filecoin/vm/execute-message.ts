import { type Message } from '../../../shared/filecoin/message.ts'
import { idAddress } from '../../../shared/filecoin/address.ts'
import { ActorExit, Exit } from './exit-codes.ts'
import { Machine, type Surroundings } from './machine.ts'
import type { Actor, WorldState } from './world-state.ts'
import { cidOfBytes } from '../../../shared/filecoin/cid.ts'

export interface Receipt {
  exitCode: number
  returned: Uint8Array
  gasUsed: bigint
  /** CID, for messages that emitted events. */
  eventsRoot: string | null
}

/** Per unit of gas, in attoFIL; constant. */
export const BASE_FEE = 100n
/** The actor that receives fees. */
export const BURNT_FUNDS_ID = 99

const EMPTY = new Uint8Array()

/**
 * Executes one message on the state that earlier messages left. A valid sender's nonce advances and its gas is paid in
 * every case. Other changes persist only with exit code 0. `outOfGas` makes the message cost more than its limit in
 * this branch.
 */
export function executeMessage(
  state: WorldState,
  { message, size }: { message: Message; size: number },
  around: Surroundings,
  outOfGas: boolean,
): { state: WorldState; receipt: Receipt } {
  const sender = state.find(message.from)
  const isNext = sender?.nonce === message.nonce
  if (sender === undefined || !isNext || sender.balance < reservedGas(message)) {
    return { state, receipt: failure(Exit.senderStateInvalid, 0n) }
  }
  const gasUsed = outOfGas ? message.gasLimit : gasOf(message, size)
  if (outOfGas || gasUsed > message.gasLimit) {
    return {
      state: payGas(state, sender, message, message.gasLimit),
      receipt: failure(Exit.outOfGas, message.gasLimit),
    }
  }
  const machine = new Machine(payGas(state, sender, message, gasUsed), message, around)
  try {
    const returned = machine.send(sender.id, message.to, message.value, message.method, message.params)
    const eventsRoot = machine.events === null ? null : cidOfBytes(machine.events)
    return { state: machine.state, receipt: { exitCode: Exit.ok, returned, gasUsed, eventsRoot } }
  } catch (error) {
    if (!(error instanceof ActorExit)) throw error
    return { state: machine.state, receipt: failure(error.code, gasUsed) }
  }
}

/** Returns the attoFIL that the sender must hold before a message may be executed. */
export function reservedGas(message: Message): bigint {
  return message.gasLimit * message.gasFeeCap
}

function failure(exitCode: number, gasUsed: bigint): Receipt {
  return { exitCode, returned: EMPTY, gasUsed, eventsRoot: null }
}

/** Estimates gas to the real order of magnitude, from the message's length and whether an actor has to work. */
function gasOf(message: Message, size: number): bigint {
  const work = message.method === 0n ? 0n : 1_500_000n
  return 450_000n + work + 1_300n * BigInt(size)
}

function payGas(state: WorldState, sender: Actor, message: Message, gasUsed: bigint): WorldState {
  const baseFee = smaller(BASE_FEE, message.gasFeeCap)
  const fee = gasUsed * baseFee + message.gasLimit * smaller(message.gasPremium, message.gasFeeCap - baseFee)
  const paid = state.put({ ...sender, nonce: sender.nonce + 1n, balance: sender.balance - fee })
  const burnt = paid.find(idAddress(BigInt(BURNT_FUNDS_ID)))
  return burnt === undefined ? paid : paid.put({ ...burnt, balance: burnt.balance + fee })
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
