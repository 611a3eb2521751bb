import { decodeExecReturn } from '../../shared/filecoin/init-actor.ts'
import { formatAddress } from '../../shared/filecoin/address.ts'
import type { Lotus } from '../filecoin/lotus.ts'
import { createTraffic } from '../filecoin/traffic.ts'
import { createCast, type Cast } from './cast.ts'
import { createChainView, type ChainView, type Outcome } from './chain-view.ts'
import type { ChannelRole, FilecoinHalf } from './filecoin-half.ts'
import { createLotusRpc, type LotusRpc } from './lotus-rpc.ts'
import { isMistake, stepsFor, type Standing, type Step } from './steps.ts'

export interface FilecoinOptions {
  lotus: Lotus
  token?: string
  /** Epochs after its creation before a contract, or an ID address, names a channel. */
  confidence?: number
  settleDelayEpochs: number
  epochDurationS: number
  /** Average number of other messages in a tipset; none when missing. */
  trafficPerTipset?: number
  /** Hands a signed voucher in to the service, as text in either form. */
  handIn: (voucher: string) => void
}

/** The next action on Filecoin for a loan. */
export type FilecoinMove =
  | { kind: 'step'; step: Step }
  /** A message is pending, or an epoch must come. */
  | { kind: 'wait' }
  /** Every step for the loan's present state is done. */
  | { kind: 'rest' }
  /** The loan cannot continue: its messages fail again and again. */
  | { kind: 'stuck' }

/** The Filecoin half of the stage: the node, all wallets, and the outcomes of messages. */
export interface FilecoinSide {
  options: FilecoinOptions
  rpc: LotusRpc
  cast: Cast
  view: ChainView
  /** Lets other parties send their messages before the next tipset. */
  stir(): Promise<void>
  next(standing: Standing, half: FilecoinHalf): FilecoinMove
  /** The channel's robust and ID address; undefined until it is made. */
  channelOf(half: FilecoinHalf, role: ChannelRole): Channel | undefined
  /** True when the channel is so old that no played reorg changes its ID. */
  isSettled(half: FilecoinHalf, role: ChannelRole): boolean
}

export interface Channel {
  robust: string
  id: string
}

type Status = 'done' | 'waiting' | 'todo' | 'hopeless'

/** A message that is not executed after this many tipsets is lost. */
const LOST_AFTER_EPOCHS = 200
const ATTEMPTS = 4

export function createFilecoinSide(options: FilecoinOptions): FilecoinSide {
  const rpc = createLotusRpc(options.lotus.url, options.token)
  const view = createChainView(rpc)
  const { confidence = 1 } = options

  function outcomeOf(half: FilecoinHalf, name: string): Outcome | undefined {
    const act = half.acts[name]
    return act === undefined ? undefined : view.outcome(act.cid)
  }

  function channelOf(half: FilecoinHalf, role: ChannelRole): Channel | undefined {
    const created = outcomeOf(half, `create ${role}`)
    if (created?.exitCode !== 0) return undefined
    const { idAddress, robustAddress } = decodeExecReturn(Buffer.from(created.returned ?? '', 'base64'))
    return { id: formatAddress(idAddress, 't'), robust: formatAddress(robustAddress, 't') }
  }

  function isSettled(half: FilecoinHalf, role: ChannelRole): boolean {
    const created = outcomeOf(half, `create ${role}`)
    return created?.exitCode === 0 && view.height() - created.height >= confidence
  }

  function statusOf(step: Step, half: FilecoinHalf): Status {
    if (step.do === 'sign') return signingStatus(step.channel, half.vouchers[step.voucher]?.channel, half)
    const act = half.acts[step.name]
    if (act === undefined) return isTimely(step, half) ? 'todo' : 'waiting'
    const outcome = view.outcome(act.cid)
    if (outcome === undefined) return view.height() - act.sentAt > LOST_AFTER_EPOCHS ? 'todo' : 'waiting'
    if (outcome.exitCode === 0 || isMistake(step)) return 'done'
    // The intended early collection succeeded because it came late enough.
    if (step.do === 'collect' && outcomeOf(half, `early collect ${step.channel}`)?.exitCode === 0)
      return 'done'
    return act.earlier.length < ATTEMPTS ? 'todo' : 'hopeless'
  }

  function signingStatus(role: ChannelRole, signedFor: string | undefined, half: FilecoinHalf): Status {
    if (signedFor !== undefined && signedFor === channelOf(half, role)?.robust) return 'done'
    return half.choices.byId && !isSettled(half, role) ? 'waiting' : 'todo'
  }

  /** A channel can be collected once its delay is over. */
  function isTimely(step: Step, half: FilecoinHalf): boolean {
    if (step.do !== 'collect') return true
    const settled = outcomeOf(half, `settle ${step.channel}`)
    return settled !== undefined && view.height() >= settled.height + options.settleDelayEpochs
  }

  return {
    ...{ options, rpc, view, channelOf, isSettled, stir: stirring(options) },
    cast: createCast(options.lotus, rpc),
    next(standing, half) {
      for (const step of stepsFor(standing, half)) {
        const status = statusOf(step, half)
        if (status === 'todo') return { kind: 'step', step }
        if (status === 'waiting') return { kind: 'wait' }
        if (status === 'hopeless') return { kind: 'stuck' }
      }
      return { kind: 'rest' }
    },
  }
}

/** Runs at most once before each tipset. */
function stirring({ lotus: { chain }, trafficPerTipset }: FilecoinOptions): () => Promise<void> {
  if (trafficPerTipset === undefined) return () => Promise.resolve()
  const traffic = createTraffic(chain, trafficPerTipset)
  let done = -1
  return async () => {
    if (done === chain.nextHeight) return
    done = chain.nextHeight
    await traffic()
  }
}
