import type { FilecoinIdentity, VoucherFacts } from '../../shared/events/filecoin-event.ts'
import {
  formatAddress,
  parseAddress,
  type FilecoinAddress,
  type NetworkLetter,
} from '../../shared/filecoin/address.ts'
import { canonicalAddress } from '../../shared/filecoin/address.ts'
import { verifySignature } from '../../shared/filecoin/verify-signature.ts'
import { voucherFacts } from '../../shared/filecoin/voucher-facts.ts'
import { voucherKey, voucherSigningBytes, type SignedVoucher } from '../../shared/filecoin/voucher.ts'

export type Party = 'from' | 'recipient'

/** What must be known of a channel to judge a voucher. Amounts in attoFIL, heights in epochs. */
export interface ChannelFacts {
  /** With the letter of the network. */
  robust: string
  /** The ID address it has now. */
  id: string
  from: FilecoinIdentity
  recipient: FilecoinIdentity
  createdEpoch: number
  /** All that was ever put in: nothing leaves a channel before it is collected. */
  largestBalance: bigint
  /** From this epoch on the actor takes no voucher any more; null while nobody settles. */
  settlingAtEpoch: number | null
  collectedEpoch: number | null
  redeemed: RedeemedVoucher[]
}

export interface RedeemedVoucher {
  lane: bigint
  nonce: bigint
  /** {@link voucherKey} of it. */
  key: string
  /** The party that did not send the message; null where the sender cannot be told to be one of them. */
  signedBy: Party | null
}

/**
 * `mayChange`: what speaks against the voucher is the channel as it is known now. More funds or a later settlement can
 * still make it good, so that the order in which messages and vouchers arrive does not decide. `isSigned`: a party of
 * the channel signed it; false where nobody looked.
 */
export type Verdict =
  | { ok: true; signer: string; signedBy: Party; facts: VoucherFacts }
  | { ok: false; reason: string; mayChange: boolean; isSigned: boolean }

const MAX_LANE = (1n << 63n) - 1n
/** The chain takes 8192; loans need none, and each one handed in costs us. */
export const MAX_MERGES = 64
const SECRET_HASH_BYTES = 32
const SIGNATURE_BYTES = new Set([65, 96])

/**
 * Whether a voucher that was handed in is a fact about this channel, by the rules of the payment channel actor. A
 * voucher is accepted if there was, or can still be, a moment in the channel's life at which the actor would have
 * taken it: it says what was signed, and not what is still worth something. Therefore
 * - the channel's life is from its creation to the epoch before it is settled or collected, and the voucher's time
 *   locks must leave a moment of it;
 * - the balance is the largest that the channel ever had;
 * - a nonce behind what is redeemed by now is no objection: every lane starts empty, so there was a moment before. The
 *   one objection by nonce is that the same party's other voucher of the same lane and nonce was redeemed, for then
 *   this one never can be, nor is it the one that was meant.
 * The secret, and an extra call, are matters of the redemption. What may still change is told only of vouchers that a
 * party signed, for they take a place while they wait: the signature comes before the rules that time can mend.
 */
export function verifyVoucher(voucher: SignedVoucher, channel: ChannelFacts, letter: NetworkLetter): Verdict {
  const formReason = reasonAgainstForm(voucher)
  if (formReason !== null) return no(formReason)
  const wrongChannel = objectionToChannel(voucher, channel)
  if (wrongChannel !== null) return wrongChannel
  const signed = findSigner(voucher, channel)
  if (signed === null) return no('its signature is of neither party of the channel')
  const objection = objectionToTime(voucher, channel) ?? objectionToAmount(voucher, channel)
  if (objection !== null) return { ...objection, isSigned: true }
  const other = redeemedInstead(voucher, channel, signed.party)
  if (other !== undefined) {
    const reason = `another voucher of its signer with lane ${voucher.lane} and nonce ${voucher.nonce} was redeemed`
    return { ...no(reason), isSigned: true }
  }
  return {
    ok: true,
    signer: formatAddress(signed.address, letter),
    signedBy: signed.party,
    facts: voucherFacts(voucher, letter),
  }
}

type Objection = Extract<Verdict, { ok: false }>

function no(reason: string): Objection {
  return { ok: false, reason, mayChange: false, isSigned: false }
}

function notYet(reason: string): Objection {
  return { ok: false, reason, mayChange: true, isSigned: false }
}

function objectionToChannel({ channelAddr }: SignedVoucher, { robust, id }: ChannelFacts): Objection | null {
  const named = formatAddress(channelAddr, 'f')
  if (named === canonicalAddress(robust) || named === canonicalAddress(id)) return null
  return no(`it names the channel ${named}`)
}

/** Why no actor takes it, whatever the channel; null where nothing speaks against its form. */
export function reasonAgainstForm(voucher: SignedVoucher): string | null {
  const { lane, secretHash, amount, merges, signature, timeLockMin, timeLockMax } = voucher
  if (signature === null) return 'it is not signed'
  if (!SIGNATURE_BYTES.has(signature.data.length))
    return `its signature has ${signature.data.length} bytes: neither 65 (secp256k1) nor 96 (BLS)`
  if (lane < 0n || lane > MAX_LANE) return `its lane ${lane} is beyond 2^63-1`
  if (secretHash.length !== 0 && secretHash.length !== SECRET_HASH_BYTES)
    return `its secret hash has ${secretHash.length} bytes and not ${SECRET_HASH_BYTES}`
  if (amount < 0n) return 'its amount is negative'
  if (merges.length > MAX_MERGES) return `it merges ${merges.length} lanes: at most ${MAX_MERGES} are read`
  if (merges.some((merge) => merge.lane === lane)) return 'it merges its own lane'
  if (merges.some((merge) => merge.lane < 0n || merge.lane > MAX_LANE))
    return 'it merges a lane beyond 2^63-1'
  if (timeLockMax !== 0n && timeLockMax < timeLockMin)
    return `it can be redeemed from epoch ${timeLockMin} to ${timeLockMax}: never`
  return null
}

/** Both ends of the time lock are inclusive; at the epoch of settling the actor takes nothing any more. */
function objectionToTime(
  { timeLockMin, timeLockMax }: SignedVoucher,
  channel: ChannelFacts,
): Objection | null {
  const { createdEpoch, settlingAtEpoch, collectedEpoch } = channel
  if (timeLockMax !== 0n && timeLockMax < BigInt(createdEpoch))
    return no(`it ended at epoch ${timeLockMax}, before the channel was made at ${createdEpoch}`)
  if (collectedEpoch !== null && timeLockMin > BigInt(collectedEpoch))
    return no(`it begins at epoch ${timeLockMin}, after the channel was collected at ${collectedEpoch}`)
  if (settlingAtEpoch === null || timeLockMin < BigInt(settlingAtEpoch)) return null
  const reason = `it begins at epoch ${timeLockMin}, when the channel was settled (${settlingAtEpoch})`
  return collectedEpoch === null ? notYet(reason) : no(reason)
}

function objectionToAmount({ amount }: SignedVoucher, channel: ChannelFacts): Objection | null {
  if (amount <= channel.largestBalance) return null
  const reason = `its amount ${shortened(amount)} is more than the channel ever held (${channel.largestBalance})`
  return channel.collectedEpoch === null ? notYet(reason) : no(reason)
}

/** An amount can have 300 digits. */
function shortened(amount: bigint): string {
  const text = amount.toString()
  return text.length <= 40 ? text : `${text.slice(0, 20)}… (${text.length} digits)`
}

/** Whose signature it is. A party that is an actor signs nothing; one whose key nobody could tell proves nothing. */
function findSigner(
  voucher: SignedVoucher,
  channel: ChannelFacts,
): { party: Party; address: FilecoinAddress } | null {
  const { signature } = voucher
  if (signature === null) return null
  const bytes = voucherSigningBytes(voucher)
  for (const party of ['from', 'recipient'] as const) {
    for (const address of keysOf(channel[party])) {
      if (verifySignature(bytes, signature, address)) return { party, address }
    }
  }
  return null
}

/** The key addresses by which somebody is known, each once. */
function keysOf({ asWritten, robust }: FilecoinIdentity): FilecoinAddress[] {
  const texts = new Set([asWritten, ...robust].flatMap((text) => canonicalAddress(text) ?? []))
  return [...texts].flatMap((text) => {
    const address = parseAddress(text)
    return address !== null && (address.protocol === 1 || address.protocol === 3) ? [address] : []
  })
}

function redeemedInstead(
  voucher: SignedVoucher,
  channel: ChannelFacts,
  party: Party,
): RedeemedVoucher | undefined {
  const sameSlot = channel.redeemed.filter(
    ({ lane, nonce, signedBy }) => lane === voucher.lane && nonce === voucher.nonce && signedBy === party,
  )
  if (sameSlot.length === 0) return undefined
  const key = voucherKey(voucher)
  return sameSlot.find((redeemed) => redeemed.key !== key)
}
