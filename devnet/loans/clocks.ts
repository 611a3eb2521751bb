import { anything, type Rpc } from '../evm/rpc.ts'
import type { FilecoinSide } from './filecoin-side.ts'

interface EvmClock {
  rpc: Rpc
  /** The latest block's time, Unix seconds. */
  now(): Promise<number>
}

/** Seconds that the chains' clocks may differ: the index must see both parties' actions in their order. */
const TOLERANCE_S = 15

/** Makes one tipset and advances the slower clock to the other's time. */
export async function mineAndAlign(evm: EvmClock, side: FilecoinSide): Promise<void> {
  await side.stir()
  await side.options.lotus.chain.mine()
  await side.view.refresh()
  await alignClocks(evm, side)
}

/** Loans are joined by simultaneous events, so a moved clock takes the other with it. */
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
