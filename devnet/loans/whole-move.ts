import type { Life } from '../evm/loan-life.ts'
import type { LoanOnChain } from '../evm/loan-reader.ts'
import { channelIdBytes } from '../evm/loan-texts.ts'
import type { Move } from '../evm/next-move.ts'
import type { FilecoinSide } from './filecoin-side.ts'

/** Returns a loan's next move on either chain. The contract's call waits until all earlier Filecoin steps are done. */
export function nextWholeMove(
  side: FilecoinSide | undefined,
  life: Life,
  loan: LoanOnChain,
  nextOnContract: () => Move,
): Move {
  const { half, market, plan } = life
  if (side === undefined || half === undefined) return nextOnContract()
  const first = market === 'erc20Loans' ? 'collateral' : 'principal'
  const channel = side.channelOf(half, first)
  if (channel !== undefined) life.paymentChannelId = channelIdBytes(Number(channel.id.slice(2)))
  const move = nextOnContract()
  if (move.kind === 'vanished') return move
  const { state } = loan
  const onFilecoin = side.next({ market, plan, state, isDone: move.kind === 'done' }, half)
  switch (onFilecoin.kind) {
    case 'step':
      return onFilecoin
    case 'wait':
      return { kind: 'hold' }
    case 'stuck':
      return { kind: 'done' }
    case 'rest':
      // The agreement names the channel by its ID, which a reorg can still assign to another channel.
      return move.kind === 'call' && state === 0 && channel !== undefined && !side.isSettled(half, first)
        ? { kind: 'hold' }
        : move
  }
}
