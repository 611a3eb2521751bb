import { idAddress, parseAddress, type FilecoinAddress } from '../../shared/filecoin/address.ts'
import { codeOf } from '../filecoin/actors/actor-codes.ts'
import type { Sending } from '../filecoin/wallet.ts'
import { COLLECT, INIT_EXEC, PAYCH_UPDATE, SEND, SETTLE } from '../../shared/filecoin/payment-channel.ts'
import { voucherFromText, voucherText } from '../../shared/filecoin/voucher.ts'
import * as z from 'zod'
import type { Life } from '../evm/loan-life.ts'
import type { Move } from '../evm/next-move.ts'
import { firstFunds, fundsOf } from './funds.ts'
import type { Channel, FilecoinSide } from './filecoin-side.ts'
import type { FilecoinHalf, VoucherRole } from './filecoin-half.ts'
import { FUNDER, otherParty, type Party, type Step } from './steps.ts'
import { lotusText, signedVoucher, voucherJson } from './vouchers.ts'
import { encodeConstructorParams, encodeExecParams, encodeUpdateParams } from '../filecoin/codec.ts'

export type WholeLife = Life & { half: FilecoinHalf }

const INIT_ACTOR = idAddress(1n)

/** Performs the due steps, at most the given number; returns how many. */
export async function performSteps(
  side: FilecoinSide | undefined,
  lives: Life[],
  moves: Move[],
  atMost = Infinity,
): Promise<number> {
  let done = 0
  for (const [index, life] of lives.entries()) {
    const move = moves[index]
    if (side === undefined || move?.kind !== 'step' || !isWhole(life) || done >= atMost) continue
    await perform(side, life, move.step)
    done += 1
  }
  return done
}

function isWhole(life: Life): life is WholeLife {
  return life.half !== undefined
}

/** Performs a step: signs a voucher and passes it on, or sends a message. */
async function perform(side: FilecoinSide, life: WholeLife, step: Step): Promise<void> {
  if (step.do === 'sign') return signVoucher(side, life, step.voucher, step)
  const { half } = life
  const message = toMessage(side, life, step)
  const sender = step.do === 'create' && half.choices.madeByThird ? half.third : half[step.by]
  const cid = await (await side.cast.wallet(sender)).send(message)
  const before = half.acts[step.name]
  const earlier = before === undefined ? [] : [...before.earlier, before.cid]
  half.acts[step.name] = { cid, earlier, sentAt: side.view.height() }
}

function toMessage(side: FilecoinSide, life: WholeLife, step: Step): Sending {
  const { half } = life
  if (step.do === 'create') return creation(side, life, step)
  const channel = existing(side, half, step)
  const { byId } = half.choices
  const to = addressOf(byId && side.isSettled(half, step.channel) ? channel.id : channel.robust)
  if ('voucher' in step) return { to, method: PAYCH_UPDATE, params: redemption(life, step) }
  switch (step.do) {
    case 'fund':
      return {
        to,
        method: SEND,
        value: fundsOf(life, half, step.channel) - firstFunds(life, half, step.channel),
      }
    case 'settle':
      return { to, method: SETTLE }
    case 'collect':
    case 'early-collect':
      return { to, method: COLLECT }
  }
}

function addressOf(text: string): FilecoinAddress {
  const address = parseAddress(text)
  if (address === null) throw new Error(`${text} is no address`)
  return address
}

function existing(side: FilecoinSide, half: FilecoinHalf, { channel, name }: Step): Channel {
  const found = side.channelOf(half, channel)
  if (found === undefined) throw new Error(`${name}: there is no channel`)
  return found
}

function creation(side: FilecoinSide, life: WholeLife, step: Step): Sending {
  const { half } = life
  const funder = FUNDER[step.channel]
  const partyOf = (party: Party): FilecoinAddress => {
    const id = half.choices.byId ? side.cast.id(half[party]) : undefined
    return addressOf(id ?? side.cast.address(half[party]))
  }
  const parties = encodeConstructorParams(partyOf(funder), partyOf(otherParty(funder)))
  const params = encodeExecParams(codeOf('paymentchannel'), parties)
  return { to: INIT_ACTOR, method: INIT_EXEC, value: firstFunds(life, half, step.channel), params }
}

/** The owner of the secret that locks a voucher. */
const SECRET_OF: Record<VoucherRole, 'a1' | 'b1'> = {
  seize: 'a1',
  unlock: 'b1',
  withdraw: 'a1',
  payback: 'b1',
}

type VoucherStep = Extract<Step, { voucher: VoucherRole }>

function redemption({ half, secrets }: WholeLife, step: VoucherStep): Uint8Array {
  const voucher = half.vouchers[step.voucher]
  if (voucher === undefined) throw new Error(`${step.name}: there is no voucher`)
  const right = secrets[SECRET_OF[step.voucher]]
  const secret = step.do === 'wrong-secret' ? right.slice().reverse() : right
  return encodeUpdateParams({ voucher: voucherFromText(voucher.text), secret })
}

async function signVoucher(
  side: FilecoinSide,
  life: WholeLife,
  role: VoucherRole,
  step: Step,
): Promise<void> {
  const { half, hashes } = life
  const channel = existing(side, half, step)
  const wallet = await side.cast.wallet(half[step.by])
  const { byId, firstNonce, ways } = half.choices
  const signed = signedVoucher(
    {
      channel: byId ? channel.id : channel.robust,
      secretHash: Buffer.from(hashes[SECRET_OF[role]].slice(2), 'hex'),
      nonce: role === 'unlock' ? firstNonce + 1n : firstNonce,
      amount: role === 'unlock' ? 0n : fundsOf(life, half, step.channel),
      // The dapp puts a time where an epoch belongs, which in effect sets no end.
      timeLockMax: role === 'payback' ? BigInt(side.view.timeS()) : 0n,
    },
    (bytes) => wallet.sign(bytes),
  )
  const text = voucherText(signed)
  if (ways[role] === 'node-store') await store(side, text, channel)
  if (ways[role] === 'handed-in') side.options.handIn(firstNonce === 1n ? lotusText(text) : text)
  half.vouchers[role] = { channel: channel.robust, text }
}

/** Adds the voucher to the node's own list, as a party with its own node does. */
async function store(side: FilecoinSide, text: string, { robust, id }: Channel): Promise<void> {
  const { channelAddr } = voucherFromText(text)
  const named = channelAddr.protocol === 0 ? id : robust
  await side.rpc.call(z.string(), 'PaychVoucherAdd', robust, voucherJson(text, named), null, '0')
}
