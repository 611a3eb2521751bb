import type { FilecoinIdentity, VoucherFacts } from '../../shared/events/filecoin-event.ts'
import {
  canonicalAddress,
  formatAddress,
  parseAddress,
  type FilecoinAddress,
  type NetworkLetter,
} from '../../shared/filecoin/address.ts'
import { verifySignature } from '../../shared/filecoin/verify-signature.ts'
import { voucherFacts } from '../../shared/filecoin/voucher-facts.ts'
import { voucherKey, voucherSigningBytes, type SignedVoucher } from '../../shared/filecoin/voucher.ts'
import type { Channel, Party, Redemption } from '../../shared/channels/channel.evolve.ts'

/**
 * `mayChange`: only the channel's current state speaks against the voucher. More funds or a later settlement can still
 * make it valid, so the order of arrival does not matter. `isSigned`: a party of the channel signed it; false if the
 * signature was not checked.
 */
export type Verdict =
  | { ok: true; signer: string; signedBy: Party; facts: VoucherFacts }
  | { ok: false; reason: string; mayChange: boolean; isSigned: boolean }

const MAX_LANE = (1n << 63n) - 1n
/** The chain accepts 8192; loans need none, and each one costs time here. */
export const MAX_MERGES = 64
const SECRET_HASH_BYTES = 32
const SIGNATURE_BYTES = new Set([65, 96])

/**
 * Whether a handed-in voucher is a fact about this channel, by the rules of the payment channel actor. It is one if the
 * actor could have accepted it at some moment of the channel's life, past or future. A fact is what was signed, not
 * what is still worth something. Therefore:
 * - The channel lives from its creation to the epoch before it is settled or collected. The voucher's time locks must
 *   leave a moment of that.
 * - The balance is the largest that the channel ever had: nothing leaves it before it is collected.
 * - A nonce below the redeemed ones is no objection, because every lane starts empty. The one objection by nonce is
 *   another redeemed voucher with the same party, lane and nonce: this one can never be redeemed then.
 * The secret and an extra call concern only the redemption. Only a voucher that a party signed can be `mayChange`,
 * because it takes a place while it waits. The signature is therefore checked before the rules that time can mend.
 */
export function verifyVoucher(voucher: SignedVoucher, channel: Channel, letter: NetworkLetter): Verdict {
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

function objectionToChannel(
  { channelAddr }: SignedVoucher,
  { robust, channelId }: Channel,
): Objection | null {
  const named = formatAddress(channelAddr, 'f')
  if (named === canonicalAddress(robust) || named === canonicalAddress(channelId)) return null
  return no(`it names the channel ${named}`)
}

/** The reason why no actor accepts the voucher, whatever the channel; null if its form is valid. */
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

/** Both ends of the time lock are inclusive; the actor accepts nothing from the settling epoch on. */
function objectionToTime({ timeLockMin, timeLockMax }: SignedVoucher, channel: Channel): Objection | null {
  const { createdEpoch, settlement, collection } = channel
  if (timeLockMax !== 0n && timeLockMax < BigInt(createdEpoch))
    return no(`it ended at epoch ${timeLockMax}, before the channel was made at ${createdEpoch}`)
  if (collection !== null && timeLockMin > BigInt(collection.epoch))
    return no(`it begins at epoch ${timeLockMin}, after the channel was collected at ${collection.epoch}`)
  if (settlement === null || timeLockMin < BigInt(settlement.settlingAtEpoch)) return null
  const reason = `it begins at epoch ${timeLockMin}, when the channel was settled (${settlement.settlingAtEpoch})`
  return collection === null ? notYet(reason) : no(reason)
}

function objectionToAmount({ amount }: SignedVoucher, channel: Channel): Objection | null {
  if (amount <= BigInt(channel.deposits)) return null
  const reason = `its amount ${shortened(amount)} is more than the channel ever held (${channel.deposits})`
  return channel.collection === null ? notYet(reason) : no(reason)
}

/** An amount can have 300 digits. */
function shortened(amount: bigint): string {
  const text = amount.toString()
  return text.length <= 40 ? text : `${text.slice(0, 20)}… (${text.length} digits)`
}

/** The party whose signature it is. An actor cannot sign, and a party with an unknown key proves nothing. */
function findSigner(
  voucher: SignedVoucher,
  channel: Channel,
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

/** The key addresses of an identity, each once. */
function keysOf({ asWritten, robust }: FilecoinIdentity): FilecoinAddress[] {
  const texts = new Set([asWritten, ...robust].flatMap((text) => canonicalAddress(text) ?? []))
  return [...texts].flatMap((text) => {
    const address = parseAddress(text)
    return address !== null && (address.protocol === 1 || address.protocol === 3) ? [address] : []
  })
}

function redeemedInstead(voucher: SignedVoucher, channel: Channel, party: Party): Redemption | undefined {
  const [lane, nonce, key] = [voucher.lane.toString(), voucher.nonce.toString(), voucherKey(voucher)]
  return channel.redemptions.find(
    ({ facts, signedBy }) =>
      facts.lane === lane && facts.nonce === nonce && signedBy === party && facts.key !== key,
  )
}
