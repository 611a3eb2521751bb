import type { AnswerLimits } from '../rpc/answer-limits.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** A block takes about 4 KiB; a tipset has five blocks on average and seldom more than fifteen. */
const TIPSET = { bytes: 512 * KIB, values: 20_000 }

/** The limits of a node's answers; see `AnswerLimit`. Methods not listed here have small answers. */
export const LOTUS_LIMITS: AnswerLimits = {
  'Filecoin.ChainHead': TIPSET,
  'Filecoin.ChainGetGenesis': TIPSET,
  'Filecoin.ChainGetTipSet': TIPSET,
  'Filecoin.ChainGetTipSetByHeight': TIPSET,
  'Filecoin.ChainGetTipSetAfterHeight': TIPSET,
  'Filecoin.ChainGetFinalizedTipSet': TIPSET,
  // A tipset has some thousands of messages of 600 bytes and 17 values; aggregated proofs take up to 100 KiB each.
  'Filecoin.ChainGetParentMessages': { bytes: 8 * MIB, values: 200_000, mayBeLarger: true },
  'Filecoin.ChainGetParentReceipts': { bytes: 4 * MIB, values: 100_000, mayBeLarger: true },
  // As above, with a signature of two more values for some; the limit of a block is 10,000 messages.
  'Filecoin.ChainGetBlockMessages': { bytes: 8 * MIB, values: 250_000, mayBeLarger: true },
  // The state of any actor; some actors' states hold lists.
  'Filecoin.StateReadState': { bytes: MIB, values: 20_000, mayBeLarger: true },
  // A certificate has up to 128 tipsets of 20 blocks, and changes of up to 8,192 participants.
  'Filecoin.F3GetLatestCertificate': { bytes: 2 * MIB, values: 50_000 },
  'Filecoin.F3GetCertificate': { bytes: 2 * MIB, values: 50_000 },
  'Filecoin.F3GetPowerTableByInstance': { bytes: 2 * MIB, values: 50_000 },
  // One wallet may own any number of channels.
  'Filecoin.PaychList': { bytes: MIB, values: 20_000, mayBeLarger: true },
  'Filecoin.PaychVoucherList': { bytes: 4 * MIB, values: 100_000, mayBeLarger: true },
}
