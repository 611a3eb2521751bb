import { anything, type Rpc } from '../evm/rpc.ts'
import type { FilecoinSide } from './filecoin-side.ts'

interface EvmClock {
  rpc: Rpc
  /** The latest block's time, unix seconds. */
  now(): Promise<number>
}

/** So far the chains' clocks may be apart: both parties' dealings must be seen in their order. */
const TOLERANCE_S = 15

/** Makes one tipset, and brings the clock that is behind to the other's time. */
export async function mineAndAlign(evm: EvmClock, side: FilecoinSide): Promise<void> {
  await side.stir()
  await side.options.lotus.chain.mine()
  await side.view.refresh()
  await alignClocks(evm, side)
}

/** Loans are joined by what happened at the same time: a clock that was moved takes the other with it. */
export async function alignClocks(evm: EvmClock, side: FilecoinSide): Promise<void> {
  const { lotus, epochDurationS } = side.options
  const ahead = (await evm.now()) - side.view.timeS()
  if (ahead > TOLERANCE_S) {
    lotus.chain.skip(Math.floor(ahead / epochDurationS) - 1)
    await lotus.chain.mine()
    await side.view.refresh()
  }
  if (ahead < -TOLERANCE_S) {
    await evm.rpc.call(anything, 'evm_increaseTime', -ahead)
    await evm.rpc.call(anything, 'evm_mine')
  }
}
