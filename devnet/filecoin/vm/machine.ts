import { type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import type { Message } from '../../../shared/filecoin/message.ts'
import type { SignatureChecks } from './signature-checks.ts'
import { ActorExit, Exit } from './exit-codes.ts'
import { newActor, type Actor, type WorldState } from './world-state.ts'
import { createdActorAddress } from '../codec.ts'

export interface Call {
  caller: Actor
  receiver: Actor
  value: bigint
  method: bigint
  params: Uint8Array
}

/** The context shared by every message of a tipset. */
export interface Surroundings {
  /** Height of the tipset that includes the message. */
  epoch: number
  settleDelayEpochs: number
  checks: SignatureChecks
  dispatch: (machine: Machine, call: Call) => Uint8Array
}

const EMPTY = new Uint8Array()

/** Runs one message and the calls that it causes, on a state of its own. */
export class Machine {
  state: WorldState
  /** The bytes from which the message's events are derived; null when it emits none. */
  events: Uint8Array | null = null
  readonly around: Surroundings
  private readonly message: Message
  private created = 0n
  private depth = 0

  constructor(state: WorldState, message: Message, around: Surroundings) {
    this.state = state
    this.message = message
    this.around = around
  }

  /**
   * Moves `value`, calls `method` on behalf of actor `from` and returns its result. An {@link ActorExit} undoes all of
   * it.
   */
  send(from: number, to: FilecoinAddress, value: bigint, method: bigint, params: Uint8Array): Uint8Array {
    const before = this.state
    this.depth++
    try {
      const receiverId = this.receiver(to)
      this.transfer(from, receiverId, value)
      if (method === 0n) return EMPTY
      const call = { caller: this.must(from), receiver: this.must(receiverId), value, method, params }
      return this.around.dispatch(this, call)
    } catch (error) {
      this.state = before
      throw error
    } finally {
      this.depth--
    }
  }

  /** Returns the actor's number; creates the actor for an unused key or delegated address. */
  resolveOrCreate(address: FilecoinAddress): number | null {
    const known = this.state.find(address)
    if (known !== undefined) return known.id
    if (address.protocol === 1 || address.protocol === 3)
      return this.create({ kind: 'account', robust: address })
    if (address.protocol === 4) return this.create({ kind: 'placeholder', delegated: address })
    return null
  }

  create(actor: Pick<Actor, 'kind'> & Partial<Actor>): number {
    const id = this.state.nextId
    this.state = this.state.put(newActor({ ...actor, id }))
    return id
  }

  nextActorAddress(): FilecoinAddress {
    return createdActorAddress(this.message.from, this.message.nonce, this.created++)
  }

  update(id: number, change: Partial<Actor>): void {
    this.state = this.state.put({ ...this.must(id), ...change })
  }

  must(id: number): Actor {
    const actor = this.state.actor(id)
    if (actor === undefined) throw new ActorExit(Exit.notFound, `actor ${id} is gone`)
    return actor
  }

  private receiver(to: FilecoinAddress): number {
    const id = this.resolveOrCreate(to)
    if (id !== null) return id
    throw new ActorExit(this.depth > 1 ? Exit.notFound : Exit.invalidReceiver, 'no such receiver')
  }

  private transfer(from: number, to: number, value: bigint): void {
    const { balance } = this.must(from)
    if (value < 0n || balance < value) {
      throw new ActorExit(
        this.depth > 1 ? Exit.nestedInsufficientFunds : Exit.insufficientFunds,
        'not enough funds',
      )
    }
    if (value === 0n) return
    this.update(from, { balance: balance - value })
    this.update(to, { balance: this.must(to).balance + value })
  }
}
