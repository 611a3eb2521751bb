import type { AnswerLimits } from '../rpc/answer-limits.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** A block has up to 15,000 transaction hashes of 69 bytes each, and the withdrawals. */
const BLOCK = { bytes: MIB, values: 20_000 }

/** A log takes 500 to 800 bytes and about 18 values. */
const LOGS = { bytes: 8 * MIB, values: 250_000, mayBeLarger: true }

/** Limits of a node's answers by method; see `AnswerLimit`. */
export const EVM_LIMITS: AnswerLimits = {
  eth_chainId: { bytes: KIB, values: 20 },
  // The contract's author decides how large its code is.
  eth_getCode: { bytes: 2 * MIB, values: 20, mayBeLarger: true },
  eth_getBlockByNumber: BLOCK,
  // With all its transactions, whose calldata the block's gas bounds.
  eth_getBlockByHash: { bytes: 8 * MIB, values: 250_000, mayBeLarger: true },
  eth_getLogs: LOGS,
  // A contract may return as much as its gas pays for.
  eth_call: { bytes: 512 * KIB, values: 200, mayBeLarger: true },
  // A call of 16,777,216 gas (EIP-7825) carries up to 1.6 MiB, which hex doubles. The values are its access list.
  eth_getTransactionByBlockHashAndIndex: { bytes: 4 * MIB, values: 50_000, mayBeLarger: true },
  eth_getTransactionByHash: { bytes: 4 * MIB, values: 50_000, mayBeLarger: true },
  // At most 128 slots are asked for, each with some 10 nodes of 532 bytes.
  eth_getProof: { bytes: 4 * MIB, values: 10_000, mayBeLarger: true },
  eth_getBlockReceipts: LOGS,
  eth_getTransactionReceipt: LOGS,
}
