import { actorOf, otherParty, type Actor, type LoanLife } from './life.ts'
import type { ChannelRole } from '../channels/voucher-use.ts'
import type { Party } from '../channels/channel.ts'

/** (pure) Who can give which secret: the borrower knows A1, the lender B1, and everybody what a chain has shown. */

/** blake2b-256; nobody knows a text whose hash is all zeros. */
const POSSIBLE_HASH = /^0x(?!0{64}$)[0-9a-f]{64}$/i
/** `UpdateChannelState` takes secrets of at most 256 bytes. */
export const LONGEST_SECRET_HEX = 2 + 2 * 256

export function isPossibleHash(hash: string): boolean {
  return POSSIBLE_HASH.test(hash)
}

/** Whether the actor knows a secret with this hash. An unknown hash is one that its owner knows the secret of. */
export function knowsSecret(life: LoanLife, actor: Actor, hash: string): boolean {
  if (!isPossibleHash(hash)) return false
  const own = actor === 'borrower' ? life.secretHashA1 : life.secretHashB1
  return own === hash || publicSecret(life, hash) !== null
}

export function isPublic(life: LoanLife, hash: string | null): boolean {
  return hash !== null && publicSecret(life, hash) !== null
}

/** Whether the party that did not sign the voucher can redeem it as far as its secret goes. */
export function canReveal(
  life: LoanLife,
  role: ChannelRole,
  signedBy: Party,
  secretHash: string | null,
): boolean {
  if (secretHash === null) return true
  const secret = publicSecret(life, secretHash)
  if (secret !== null && secret.length > LONGEST_SECRET_HEX) return false
  return knowsSecret(life, actorOf(role, otherParty(signedBy)), secretHash)
}

function publicSecret(life: LoanLife, hash: string): string | null {
  if (hash === life.secretHashA1 && life.secretA1 !== null) return life.secretA1
  if (hash === life.secretHashB1 && life.secretB1 !== null) return life.secretB1
  for (const { channel } of life.channels) {
    const shown = channel.redemptions.find(
      ({ facts, secret }) => facts.secretHash === hash && secret !== null,
    )
    if (shown !== undefined) return shown.secret
  }
  return null
}
