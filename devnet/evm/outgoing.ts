import { contracts } from './artifacts.ts'
import type { Deployment } from './deploy.ts'
import type { Life, Market } from './loan-life.ts'
import type { Move } from './next-move.ts'
import type { Transaction } from './transactions.ts'

/** A call for one loan, and its sender. */
export interface LoanCall {
  life: Life
  sender: string
  data: string
}

/** A transaction, with its loans in the order of its calls. */
export interface Outgoing {
  transaction: Transaction
  lives: Life[]
}

const callsPerBatch = 5

/** Returns a move's call, if it has one. */
export function toCalls(life: Life, move: Move | undefined): LoanCall[] {
  return move?.kind === 'call' ? [{ life, sender: move.sender, data: move.data }] : []
}

/** Parties with keys send each call separately; a contract wallet makes up to five calls in one transaction. */
export function packCalls(deployment: Deployment, calls: LoanCall[]): Outgoing[] {
  const wallets = [deployment.batcher, deployment.borrowerBatcher]
  const direct = calls
    .filter(({ sender }) => !wallets.includes(sender))
    .map(({ life, sender, data }) => ({
      transaction: { from: sender, to: addressFor(deployment, life.market), data },
      lives: [life],
    }))
  const batched = wallets.flatMap((wallet) => {
    const own = calls.filter(({ sender }) => sender === wallet)
    const alone = own.filter(({ life }) => life.alone).map((call) => [call])
    return [...alone, ...chunks(own.filter(({ life }) => !life.alone))].map((group) =>
      batch(deployment, wallet, group),
    )
  })
  return [...direct, ...batched]
}

/** Packs several calls of one contract wallet into one transaction. */
export function batch(deployment: Deployment, wallet: string, calls: LoanCall[]): Outgoing {
  const packed = calls.map(({ life, data }) => ({ to: addressFor(deployment, life.market), data }))
  return {
    transaction: {
      from: ownerOf(deployment),
      to: wallet,
      data: contracts.batcher.interface.encodeFunctionData('batch', [packed]),
    },
    lives: calls.map(({ life }) => life),
  }
}

function addressFor(deployment: Deployment, market: Market): string {
  return deployment[market]
}

function ownerOf({ accounts }: Deployment): string {
  const [owner] = accounts
  if (owner === undefined) throw new Error('the deployment names no accounts')
  return owner
}

function chunks(calls: LoanCall[]): LoanCall[][] {
  const count = Math.ceil(calls.length / callsPerBatch)
  return Array.from({ length: count }, (_, i) => calls.slice(i * callsPerBatch, (i + 1) * callsPerBatch))
}
