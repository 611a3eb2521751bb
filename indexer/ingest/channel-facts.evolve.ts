import type { ChainEvent } from '../../shared/events/chain-event.ts'
import { isEvmEvent } from '../../shared/events/chain-event.ts'
import type { CreateChannelEvent, FilecoinIdentity } from '../../shared/events/filecoin-event.ts'
import { canonicalAddress } from '../../shared/filecoin/address.ts'
import type { ChannelFacts, Party } from './verify-voucher.ts'

/** The facts in a channel's log entries that matter for what is signed off-chain; undefined without a creation. */
export function channelFactsOf(events: ChainEvent[]): ChannelFacts | undefined {
  const creation = events.find((event) => event.kind === 'CreateChannel')
  if (creation === undefined) return undefined
  const facts: ChannelFacts = {
    robust: creation.channel,
    id: creation.channelId,
    from: creation.from,
    recipient: creation.recipient,
    createdEpoch: creation.blockNumber,
    largestBalance: 0n,
    settlingAtEpoch: null,
    collectedEpoch: null,
    redeemed: [],
  }
  let latestMinSettle = 0n
  for (const event of events) {
    if (isEvmEvent(event)) continue
    if ('value' in event) facts.largestBalance += BigInt(event.value)
    switch (event.kind) {
      case 'UpdateChannel': {
        const { lane, nonce, key, minSettleHeight } = event.voucher
        const signedBy = signerPartyOf(event.sender, creation)
        facts.redeemed.push({ lane: BigInt(lane), nonce: BigInt(nonce), key, signedBy })
        latestMinSettle = maxOf(latestMinSettle, BigInt(minSettleHeight))
        break
      }
      case 'SettleChannel':
        facts.settlingAtEpoch = event.settlingAtEpoch
        break
      case 'CollectChannel':
        facts.collectedEpoch = event.blockNumber
        break
      case 'CreateChannel':
      case 'FundChannel':
      case 'UndecodableMessage':
      case 'SignedVoucher':
      case 'SignedStatement':
        break
    }
  }
  // A voucher redeemed while the channel settles defers the settlement to its own minSettleHeight.
  if (facts.settlingAtEpoch !== null && latestMinSettle > BigInt(facts.settlingAtEpoch))
    facts.settlingAtEpoch = Number(latestMinSettle)
  return facts
}

/** The sender of a redemption is never the voucher's signer. */
function signerPartyOf(sender: FilecoinIdentity, { from, recipient }: CreateChannelEvent): Party | null {
  if (sharesName(sender, from)) return 'recipient'
  return sharesName(sender, recipient) ? 'from' : null
}

function sharesName(a: FilecoinIdentity, b: FilecoinIdentity): boolean {
  const names = new Set(namesOf(a))
  return namesOf(b).some((name) => names.has(name))
}

function namesOf({ asWritten, id, robust }: FilecoinIdentity): string[] {
  return [asWritten, ...(id === null ? [] : [id]), ...robust].map((name) => canonicalAddress(name) ?? name)
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
