import type { AnswerLimits } from '../rpc/answer-limits.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** A transaction's hash takes 69 bytes in a block: up to 15,000 of them, and the withdrawals. */
const BLOCK = { bytes: MIB, values: 20_000 }

/** A log takes 500 to 800 bytes and some 18 values. */
const LOGS = { bytes: 8 * MIB, values: 250_000, mayBeLarger: true }

/** The limits of a node's answers; see `AnswerLimit`. */
export const EVM_LIMITS: AnswerLimits = {
  eth_chainId: { bytes: KIB, values: 20 },
  // As large as the contract's author made it.
  eth_getCode: { bytes: 2 * MIB, values: 20, mayBeLarger: true },
  eth_getBlockByNumber: BLOCK,
  eth_getBlockByHash: BLOCK,
  eth_getLogs: LOGS,
  // Any contract may return as much as its gas pays for.
  eth_call: { bytes: 512 * KIB, values: 200, mayBeLarger: true },
  // A call of 16,777,216 gas (EIP-7825) carries up to 1.6 MiB, in hex twice as much; the values are its access list.
  eth_getTransactionByBlockHashAndIndex: { bytes: 4 * MIB, values: 50_000, mayBeLarger: true },
  eth_getTransactionByHash: { bytes: 4 * MIB, values: 50_000, mayBeLarger: true },
  eth_getBlockReceipts: LOGS,
  eth_getTransactionReceipt: LOGS,
}
