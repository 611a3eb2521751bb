import { actorIdOf, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import { concatBytes } from '../../../shared/filecoin/bytes.ts'
import { addressKey, addressOfKey } from './address-key.ts'
import { PersistentMap } from './persistent-map.ts'
import { encodeUtf8 } from './utf8.ts'
import { cidOfBytes } from '../../../shared/filecoin/cid.ts'

export type ActorKind =
  | 'system'
  | 'account'
  | 'ethaccount'
  | 'init'
  | 'multisig'
  | 'paymentchannel'
  | 'placeholder'
  | 'evm'
  | 'bulletin'

export interface LaneState {
  /** attoFIL. */
  redeemed: bigint
  nonce: bigint
}

export interface ChannelState {
  /** Actor numbers. */
  from: number
  to: number
  /** attoFIL. */
  toSend: bigint
  /** Epochs; 0 while not settling. */
  settlingAt: bigint
  minSettleHeight: bigint
  /** Keyed by the lane's number as text. */
  lanes: ReadonlyMap<string, LaneState>
}

export interface ProposedTransaction {
  to: FilecoinAddress
  value: bigint
  method: bigint
  params: Uint8Array
  /** Actor numbers, the proposer first. */
  approved: readonly number[]
}

export interface MultisigState {
  signers: readonly number[]
  threshold: number
  nextTransaction: number
  pending: ReadonlyMap<number, ProposedTransaction>
}

/** Immutable; changes make a new object. */
export interface Actor {
  id: number
  kind: ActorKind
  nonce: bigint
  /** attoFIL. */
  balance: bigint
  /** Its key or actor address; null for the built-in ones. */
  robust: FilecoinAddress | null
  delegated: FilecoinAddress | null
  channel: ChannelState | null
  multisig: MultisigState | null
}

export type NewActor = Pick<Actor, 'id' | 'kind'> & Partial<Actor>

export function newActor(actor: NewActor): Actor {
  const blank = { nonce: 0n, balance: 0n, robust: null, delegated: null, channel: null, multisig: null }
  return { ...blank, ...actor }
}

/** All actors at one point of one branch. Immutable. */
export class WorldState {
  private readonly actors: PersistentMap<Actor>
  /** Every robust address ever used, including those of deleted actors, because Init never forgets. */
  private readonly ids: PersistentMap<number>
  readonly nextId: number
  private knownRoot: string | undefined

  constructor(actors = new PersistentMap<Actor>(), ids = new PersistentMap<number>(), nextId = 100) {
    this.actors = actors
    this.ids = ids
    this.nextId = nextId
  }

  /** Returns undefined for an actor that never existed or was deleted. */
  actor(id: number): Actor | undefined {
    return this.actors.get(String(id))
  }

  /** Returns the number behind an address, even of a deleted actor; null when the state has none. */
  idOf(address: FilecoinAddress): number | null {
    const id = actorIdOf(address)
    if (id !== null) return id > Number.MAX_SAFE_INTEGER ? null : Number(id)
    return this.ids.get(addressKey(address)) ?? null
  }

  find(address: FilecoinAddress): Actor | undefined {
    const id = this.idOf(address)
    return id === null ? undefined : this.actor(id)
  }

  put(actor: Actor): WorldState {
    const ids = [actor.robust, actor.delegated].reduce(
      (all, address) => (address === null ? all : rememberId(all, address, actor.id)),
      this.ids,
    )
    return new WorldState(this.actors.with(String(actor.id), actor), ids, Math.max(this.nextId, actor.id + 1))
  }

  remove(id: number): WorldState {
    return new WorldState(this.actors.without(String(id)), this.ids, this.nextId)
  }

  /** Returns the robust address with this number, even of a deleted actor. Searches all addresses. */
  robustOf(id: number): FilecoinAddress | null {
    for (const [key, known] of this.ids.entries()) if (known === id) return addressOfKey(key)
    return null
  }

  /** CID that commits to the whole state. */
  get root(): string {
    return (this.knownRoot ??= cidOfBytes(
      concatBytes(this.actors.digest(actorText), this.ids.digest(String), encodeUtf8(String(this.nextId))),
    ))
  }
}

function rememberId(ids: PersistentMap<number>, address: FilecoinAddress, id: number): PersistentMap<number> {
  const key = addressKey(address)
  return ids.get(key) === id ? ids : ids.with(key, id)
}

function actorText(actor: Actor): string {
  return JSON.stringify(actor, (_, value: unknown) => {
    if (typeof value === 'bigint') return value.toString()
    return value instanceof Map ? [...(value as ReadonlyMap<unknown, unknown>)] : value
  })
}
