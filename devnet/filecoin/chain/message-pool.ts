import { formatAddress, sameAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import { addressKey } from '../vm/address-key.ts'
import { reservedGas } from '../vm/execute-message.ts'
import type { Actor, WorldState } from '../vm/world-state.ts'
import type { SignedMessage } from './signed-message.ts'

/** The pool refused the message, so no block will contain it. */
export class RefusedMessage extends Error {
  override name = 'RefusedMessage'
}

/** Messages of one sender that can be executed in this order. */
export interface ReadyMessages {
  /** Key of the sender's address. */
  signer: string
  messages: readonly SignedMessage[]
  /** A message with the first one's nonce. The one in the earlier block runs. */
  rival?: SignedMessage
}

/** Most messages of one sender in a block. */
const MOST_OF_ONE_SENDER = 200

/** Messages waiting to be included. The pool never forgets a message, so that it can be found by its CID. */
export class MessagePool {
  private readonly pending = new Map<string, Map<bigint, SignedMessage>>()
  /** Replaced messages that some miners still have. */
  private readonly rivals = new Map<string, SignedMessage>()
  private readonly known = new Map<string, { signed: SignedMessage; signer: FilecoinAddress }>()

  /**
   * Adds a message whose signature was checked, and returns whether it is new. If it replaces another message,
   * `keepRival` makes miners include both. Throws a {@link RefusedMessage}.
   */
  add(signed: SignedMessage, signer: FilecoinAddress, keepRival = false): boolean {
    if (this.known.has(signed.cid)) return false
    const own = this.pendingOf(signer)
    const rival = own.get(signed.message.nonce)
    if (rival !== undefined && !isWorthMore(signed, rival)) {
      throw new RefusedMessage(
        `message from ${formatAddress(signer, 't')} with nonce ${signed.message.nonce.toString()} already in mpool, ` +
          'increase GasPremium to replace it',
      )
    }
    if (keepRival && rival !== undefined) this.rivals.set(addressKey(signer), rival)
    own.set(signed.message.nonce, signed)
    this.known.set(signed.cid, { signed, signer })
    return true
  }

  find(cid: string): SignedMessage | undefined {
    return this.known.get(cid)?.signed
  }

  /** Removes a message that the chain's new head includes. */
  included(signed: SignedMessage): void {
    const signer = this.known.get(signed.cid)?.signer
    if (signer !== undefined) this.pendingOf(signer).delete(signed.message.nonce)
  }

  /** Makes a message of a reverted tipset pending again, unless another took its place. */
  restore(signed: SignedMessage): void {
    const signer = this.known.get(signed.cid)?.signer
    if (signer === undefined) return
    const own = this.pendingOf(signer)
    if (!own.has(signed.message.nonce)) own.set(signed.message.nonce, signed)
  }

  /** Returns the highest pending nonce; undefined when nothing is pending. */
  lastNonce(signer: FilecoinAddress): bigint | undefined {
    return [...this.pendingOf(signer).keys()].reduce<bigint | undefined>(
      (last, nonce) => (last === undefined || nonce > last ? nonce : last),
      undefined,
    )
  }

  all(): SignedMessage[] {
    return [...this.pending.values()].flatMap((own) => [...own.values()])
  }

  /** Returns the messages executable on this state, by sender, in the order in which senders first appeared. */
  ready(state: WorldState): ReadyMessages[] {
    const ready: ReadyMessages[] = []
    for (const [signer, own] of this.pending) {
      if (own.size === 0) continue
      const messages = this.readyOf(own, state)
      const rival = this.rivals.get(signer)
      if (rival !== undefined && rival.message.nonce === messages[0]?.message.nonce) {
        ready.push({ signer, messages, rival })
      } else if (messages.length > 0) ready.push({ signer, messages })
    }
    return ready
  }

  private readyOf(own: Map<bigint, SignedMessage>, state: WorldState): SignedMessage[] {
    const [first] = own.values()
    const signer = first === undefined ? undefined : this.known.get(first.cid)?.signer
    const actor = signer === undefined ? undefined : state.find(signer)
    if (actor?.kind !== 'account') return []
    for (const nonce of own.keys()) if (nonce < actor.nonce) own.delete(nonce)
    return affordable(own, actor, state)
  }

  private pendingOf(signer: FilecoinAddress): Map<bigint, SignedMessage> {
    const key = addressKey(signer)
    const known = this.pending.get(key)
    if (known !== undefined) return known
    const own = new Map<bigint, SignedMessage>()
    this.pending.set(key, own)
    return own
  }
}

/**
 * Returns consecutive messages from the actor's nonce while the balance covers their gas, even if all earlier ones
 * succeed.
 */
function affordable(own: Map<bigint, SignedMessage>, actor: Actor, state: WorldState): SignedMessage[] {
  const chosen: SignedMessage[] = []
  let { balance } = actor
  while (chosen.length < MOST_OF_ONE_SENDER) {
    const signed = own.get(actor.nonce + BigInt(chosen.length))
    if (signed === undefined || !isFrom(signed, actor, state)) break
    balance -= reservedGas(signed.message)
    if (balance < 0n) break
    if (signed.message.value <= balance) balance -= signed.message.value
    chosen.push(signed)
  }
  return chosen
}

/** A sender's ID may name another actor after a reorg. */
function isFrom({ message: { from } }: SignedMessage, actor: Actor, state: WorldState): boolean {
  if (actor.robust !== null && sameAddress(from, actor.robust)) return true
  return state.find(from)?.id === actor.id
}

function isWorthMore({ message }: SignedMessage, { message: rival }: SignedMessage): boolean {
  return message.gasPremium * 4n >= rival.gasPremium * 5n && message.gasPremium > rival.gasPremium
}
