import fc from 'fast-check'
import t from 'tap'
import { filecoinOffers } from '../../../../shared/loan-life/filecoin-actions.ts'
import { otherParty, partyOf, type LoanLife } from '../../../../shared/loan-life/life.ts'
import { checkVouchers } from '../../../../shared/loan-life/voucher-check.ts'
import { vouchersOf } from '../../../../api/loan-life/vouchers.ts'
import { dispatch } from '../../../../devnet/filecoin/actors/dispatch.ts'
import { actorAddress, encodeUpdateParams } from '../../../../devnet/filecoin/codec.ts'
import { createKey } from '../../../../devnet/filecoin/keys.ts'
import { ActorExit } from '../../../../devnet/filecoin/vm/exit-codes.ts'
import { Machine } from '../../../../devnet/filecoin/vm/machine.ts'
import { SignatureChecks } from '../../../../devnet/filecoin/vm/signature-checks.ts'
import { newActor, WorldState } from '../../../../devnet/filecoin/vm/world-state.ts'
import { planEntries } from '../../../../indexer/event-log/plan-entries.evolve.ts'
import { foldChannel } from '../../../../shared/channels/channel.evolve.ts'
import type { Channel, Party } from '../../../../shared/channels/channel.ts'
import { useOf, type ChannelRole } from '../../../../shared/channels/voucher-use.ts'
import type { FilecoinEvent } from '../../../../shared/events/filecoin-event.ts'
import type { LogEntry } from '../../../../shared/events/log-entry.ts'
import { formatAddress } from '../../../../shared/filecoin/address.ts'
import { blake2b256 } from '../../../../shared/filecoin/blake2b.ts'
import { bytesToHex } from '../../../../shared/filecoin/bytes.ts'
import { COLLECT, PAYCH_UPDATE, SETTLE } from '../../../../shared/filecoin/payment-channel.ts'
import { voucherFacts } from '../../../../shared/filecoin/voucher-facts.ts'
import { voucherSigningBytes, type SignedVoucher } from '../../../../shared/filecoin/voucher.ts'
import {
  collectChannel,
  identity,
  makeChannel,
  settleChannel,
  signedVoucher,
  updateChannel,
} from '../../../helpers/channel-events.ts'
import { cases } from '../../../helpers/cases.ts'
import { erc20Life, filLife, linked, NOW_S } from '../../../helpers/loan-lives.ts'

/** Offers on a channel, compared with the devnet's channel actor after any history of the channel. */

const text = (words: string): Uint8Array => new TextEncoder().encode(words)
const KEYS = {
  from: createKey('secp256k1', text('from')),
  recipient: createKey('secp256k1', text('recipient')),
}
const IDS = { from: 1000, recipient: 1001 }
const CHANNEL_ID = 1002
const ROBUST = actorAddress(text('the channel'))
const FUNDS = 5n
const SETTLE_DELAY = 12
const SECRETS = { a1: text('the borrower knows'), b1: text('the lender knows') }
const HASHES = { a1: blake2b256(SECRETS.a1), b1: blake2b256(SECRETS.b1) }
const hex = (bytes: Uint8Array): string => `0x${bytesToHex(bytes)}`
const PARTIES: Party[] = ['from', 'recipient']

/** Messages of a party; each takes an epoch or a few. */
type Deed = { wait: number } & (
  { do: 'redeem'; by: Party; voucher: number } | { do: 'settle' | 'collect'; by: Party }
)

interface Play {
  role: ChannelRole
  vouchers: {
    by: Party
    isHandedIn: boolean
    secret: 'a1' | 'b1' | 'none' | 'other'
    voucher: Omit<SignedVoucher, 'signature'>
  }[]
  deeds: Deed[]
}

const party = fc.constantFrom(...PARTIES)
const epoch = fc.bigInt(0n, 30n)
const arbitraryPlay: fc.Arbitrary<Play> = fc.record({
  role: fc.constantFrom<ChannelRole>('collateral', 'principal', 'payback'),
  vouchers: fc.array(
    fc
      .record({
        by: party,
        isHandedIn: fc.boolean(),
        secret: fc.constantFrom(
          'a1' as const,
          'b1' as const,
          'a1' as const,
          'b1' as const,
          'none' as const,
          'other' as const,
        ),
        timeLockMin: fc.oneof(fc.constant(0n), epoch),
        timeLockMax: fc.oneof(fc.constant(0n), fc.constant(0n), epoch),
        lane: fc.bigInt(0n, 1n),
        nonce: fc.bigInt(0n, 3n),
        amount: fc.bigInt(-1n, 6n),
        minSettleHeight: fc.oneof(fc.constant(0n), fc.bigInt(0n, 40n)),
        merges: fc.oneof(
          fc.constant<SignedVoucher['merges']>([]),
          fc.constant<SignedVoucher['merges']>([]),
          fc.array(fc.record({ lane: fc.bigInt(0n, 1n), nonce: fc.bigInt(0n, 4n) }), { maxLength: 2 }),
        ),
      })
      .map(({ by, secret, isHandedIn, ...terms }) => ({
        ...{ by, secret, isHandedIn },
        voucher: {
          ...terms,
          channelAddr: ROBUST,
          extra: null,
          secretHash:
            secret === 'none'
              ? new Uint8Array()
              : secret === 'other'
                ? blake2b256(text('?'))
                : HASHES[secret],
        },
      })),
    { minLength: 1, maxLength: 4 },
  ),
  deeds: fc.array(
    fc.record({
      wait: fc.nat(6),
      by: party,
      do: fc.constantFrom('redeem', 'redeem', 'redeem', 'settle', 'collect'),
      voucher: fc.nat(3),
    }) as fc.Arbitrary<Deed>,
    { maxLength: 5 },
  ),
})

const CHECKS = new SignatureChecks()

function act(
  state: WorldState,
  at: number,
  by: Party,
  method: bigint,
  params: Uint8Array,
): WorldState | null {
  const around = { epoch: at, settleDelayEpochs: SETTLE_DELAY, checks: CHECKS, dispatch }
  const message = {
    ...{ version: 0, to: ROBUST, from: KEYS[by].address, nonce: 0n, value: 0n },
    ...{ gasLimit: 1n, gasFeeCap: 1n, gasPremium: 1n, method, params },
  }
  const machine = new Machine(state, message, around)
  try {
    machine.send(IDS[by], ROBUST, 0n, method, params)
    return machine.state
  } catch (error) {
    if (error instanceof ActorExit) return null
    throw error
  }
}

function play({ role, vouchers, deeds }: Play) {
  let state = new WorldState()
  for (const by of PARTIES)
    state = state.put(newActor({ id: IDS[by], kind: 'account', robust: KEYS[by].address }))
  const channel = {
    from: IDS.from,
    to: IDS.recipient,
    toSend: 0n,
    settlingAt: 0n,
    minSettleHeight: 0n,
    lanes: new Map(),
  }
  state = state.put(
    newActor({ id: CHANNEL_ID, kind: 'paymentchannel', robust: ROBUST, balance: FUNDS, channel }),
  )
  const identities = {
    from: { ...identity(formatAddress(KEYS.from.address, 't')), id: 't01000' },
    recipient: { ...identity(formatAddress(KEYS.recipient.address, 't')), id: 't01001' },
  }
  const robust = formatAddress(ROBUST, 't')
  const signed = vouchers.map(({ by, voucher, secret }) => {
    const unsigned = { ...voucher, signature: null }
    return { by, secret, voucher: { ...unsigned, signature: KEYS[by].sign(voucherSigningBytes(unsigned)) } }
  })
  const events: FilecoinEvent[] = [
    makeChannel({ height: 1, channel: robust, channelId: 't01002', value: FUNDS.toString(), ...identities }),
  ]
  const handedIn = signed
    .filter((_, index) => vouchers[index]?.isHandedIn)
    .map(({ by, voucher }) => signedVoucher(robust, identities[by].asWritten, voucherFacts(voucher, 't')))
  let at = 1
  for (const deed of deeds) {
    at += 1 + deed.wait
    const by = identities[deed.by]
    const one = 'voucher' in deed ? signed[deed.voucher % signed.length] : undefined
    if (deed.do === 'redeem' && one !== undefined) {
      const secret = one.secret === 'a1' || one.secret === 'b1' ? SECRETS[one.secret] : new Uint8Array()
      const next = act(state, at, deed.by, PAYCH_UPDATE, encodeUpdateParams({ voucher: one.voucher, secret }))
      if (next === null) continue
      state = next
      const given = secret.length === 0 ? null : hex(secret)
      events.push(
        updateChannel({
          height: at,
          to: robust,
          voucher: voucherFacts(one.voucher, 't'),
          sender: by,
          secret: given,
        }),
      )
    } else if (deed.do === 'settle' || deed.do === 'collect') {
      const next = act(state, at, deed.by, deed.do === 'settle' ? SETTLE : COLLECT, new Uint8Array())
      if (next === null) continue
      state = next
      const settlingAtEpoch = Number(state.actor(CHANNEL_ID)?.channel?.settlingAt ?? 0n)
      events.push(
        deed.do === 'settle'
          ? settleChannel({ height: at, to: robust, sender: by, settlingAtEpoch })
          : collectChannel({ height: at, to: robust, sender: by }),
      )
    }
  }
  const folded = fold([...events, ...handedIn])
  return { role, state, at, channel: folded, signed }
}

function fold(events: FilecoinEvent[]): Channel {
  const entries = planEntries({ network: 'filecoin:testnet', blockchain: 'FIL' }, [], events, null)
  const channel = foldChannel(
    entries.map((entry, index): LogEntry => ({
      ...entry,
      position: index + 1,
      step: 1,
      recordedAt: new Date(0),
    })),
  )
  if (channel === undefined) throw new Error('no channel')
  return channel
}

function lifeOf({ role, at, channel }: ReturnType<typeof play>): LoanLife {
  const life = role === 'collateral' ? erc20Life({ contractState: '4' }) : filLife({ contractState: '4' })
  return {
    ...life,
    ...{ secretHashA1: hex(HASHES.a1), secretHashB1: hex(HASHES.b1) },
    channels: [linked(role, channel)],
    clocks: [{ network: 'filecoin:testnet', height: at, timeS: NOW_S, secondsPerHeight: 30 }],
  }
}

/** The secrets that a party has: its own, none, and those that redemptions have shown. */
function secretsOf(party: Party, { role, channel }: ReturnType<typeof play>): Uint8Array[] {
  const owner = partyOf(role, 'borrower') === party ? SECRETS.a1 : SECRETS.b1
  const shown = channel.redemptions.flatMap(({ secret }) =>
    secret === null ? [] : [Buffer.from(secret.slice(2), 'hex')],
  )
  return [new Uint8Array(), owner, ...shown]
}

function accepted(ended: ReturnType<typeof play>, at: number, by: Party, voucher: SignedVoucher): boolean {
  return secretsOf(by, ended).some(
    (secret) => act(ended.state, at, by, PAYCH_UPDATE, encodeUpdateParams({ voucher, secret })) !== null,
  )
}

/** The next epoch, and those at and around every edge that the play has. */
function epochsAfter({ at, channel, signed }: ReturnType<typeof play>): number[] {
  const edges = signed.flatMap(({ voucher }) => [Number(voucher.timeLockMin), Number(voucher.timeLockMax)])
  const all = [at + 1, channel.settlement?.settlingAtEpoch ?? 0, ...edges].flatMap((edge) => [
    edge - 1,
    edge,
    edge + 1,
  ])
  return [...new Set(all)].filter((epoch) => epoch > at)
}

void t.test(
  'a channel’s offers are what its actor takes, at any epoch to come',
  { timeout: 120_000 },
  (t) => {
    let offered = 0
    fc.assert(
      fc.property(arbitraryPlay, (given) => {
        const ended = play(given)
        const { role, state, channel, signed } = ended
        const life = lifeOf(ended)
        const offers = filecoinOffers(life)
        const within = ({ window }: (typeof offers)[number], epoch: number): boolean =>
          (window.from ?? 0n) <= BigInt(epoch) && (window.until === null || BigInt(epoch) <= window.until)
        for (const epoch of epochsAfter(ended)) {
          for (const by of PARTIES) {
            const mine = offers.filter(({ actor }) => partyOf(role, actor) === by)
            const isOffered = (beginning: string): boolean =>
              mine.some((offer) => offer.action.startsWith(beginning) && within(offer, epoch))
            if (isOffered('settle') !== (act(state, epoch, by, SETTLE, new Uint8Array()) !== null))
              return false
            if (isOffered('collect') !== (act(state, epoch, by, COLLECT, new Uint8Array()) !== null))
              return false
          }
        }
        // The best voucher of a use is offered, so each offer is taken, and where none is, no voucher of the use is.
        for (const party of PARTIES) {
          const use = useOf(role, party)
          const known = checkVouchers(linked(role, channel))
            .filter(({ signedBy, redemption }) => signedBy === party && redemption === null)
            .flatMap(({ facts }) =>
              signed.filter(
                ({ by, voucher }) => by === party && voucherFacts(voucher, 't').key === facts.key,
              ),
            )
          const offer = offers.find(
            ({ action, actor }) => action.startsWith('redeem') && partyOf(role, actor) === otherParty(party),
          )
          if (use === null) {
            if (offer !== undefined) return false
            continue
          }
          const taken = (epoch: number): boolean =>
            known.some(({ voucher }) => accepted(ended, epoch, otherParty(party), voucher))
          for (const epoch of epochsAfter(ended)) {
            if (offer === undefined && taken(epoch)) return false
            if (offer !== undefined && within(offer, epoch) && !taken(epoch)) return false
          }
          if (offer !== undefined) offered += 1
        }
        return true
      }),
      { numRuns: cases(1000) },
    )
    t.ok(offered > 0, `${offered} redemptions were offered`)
    t.end()
  },
)

void t.test('a voucher is redeemable from, until and now as the actor says', { timeout: 120_000 }, (t) => {
  fc.assert(
    fc.property(arbitraryPlay, (given) => {
      const ended = play(given)
      const { at, signed } = ended
      const life = lifeOf(ended)
      return vouchersOf(life).every(({ id, redeemable, signedBy, redeemed }) => {
        const own = signed.find(
          ({ voucher, by }) =>
            voucherFacts(voucher, 't').key === id && partyOf(ended.role, signedBy ?? 'borrower') === by,
        )
        if (own === undefined || redeemed !== null) return !redeemable.now
        const redeemer = otherParty(own.by)
        if (redeemable.now !== accepted(ended, at + 1, redeemer, own.voucher)) return false
        const from = redeemable.from !== null && 'epoch' in redeemable.from ? redeemable.from.epoch : 0
        const until =
          redeemable.until !== null && 'epoch' in redeemable.until ? redeemable.until.epoch : Infinity
        return epochsAfter(ended).every(
          (epoch) => (epoch >= from && epoch <= until) || !accepted(ended, epoch, redeemer, own.voucher),
        )
      })
    }),
    { numRuns: cases(1000) },
  )
  t.end()
})
