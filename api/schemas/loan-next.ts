import * as z from 'zod'
import { ACTIONS } from '../../shared/loan-life/actions.ts'
import { LOAN_PROBLEMS, type LoanProblemCode } from '../loan-life/loan-problems.ts'
import { STEPS } from '../loan-life/steps.ts'
import { VOUCHER_PROBLEMS, type VoucherProblem } from '../loan-life/voucher-problems.ts'
import { isoTime } from './common.ts'

const VOUCHER_CODES = Object.keys(VOUCHER_PROBLEMS) as [VoucherProblem, ...VoucherProblem[]]
const LOAN_CODES = Object.keys(LOAN_PROBLEMS) as [LoanProblemCode, ...LoanProblemCode[]]

const WITHDRAW = {
  action: 'withdraw',
  actor: 'borrower',
  address: '0xa513E6E4b8f2a923D98304ec87F64353C4D5C853',
  chain: 'evm:31337',
  notBefore: null,
  notAfter: { time: '2026-11-21T18:48:05.000Z', block: 379 },
  basis: { network: 'evm:31337', block: 83, time: '2026-11-21T17:48:47.000Z', secondsPerBlock: 12 },
}
const CHANNEL = 't2awhecrbr574isyarwew2uwwjjxzmc32e5o7damq'
const VOUCHER_ID = '6cae4cdd1f3c4ca0d6e0b2cbdcfa6b4dd2e1b0c4d6b46e57fbd4f1f0f7a4a0c1'
const SECONDS = {
  code: 'seconds-for-epochs',
  message: VOUCHER_PROBLEMS['seconds-for-epochs'],
}
const VOUCHER = {
  id: VOUCHER_ID,
  role: 'collateral',
  channel: { network: 'filecoin:testnet', id: 't01037', robust: CHANNEL, shown: true },
  use: 'seize',
  signedBy: 'borrower',
  signer: 't1odd7vlkzel6ajqebo63dhrvll2tclqryp7s2eza',
  lane: '0',
  nonce: '0',
  amount: '1722.901167300308171058',
  secretHash: '0xb53d374fa5078d22ae59cf7c3c5671e4bf5e8dac0f7bcdc4459d3348264f3de7',
  timeLockMin: { epoch: '0', time: null },
  timeLockMax: { epoch: '1795283285', time: null },
  minSettleHeight: { epoch: '0', time: null },
  text: null,
  redeemable: { now: true, from: null, until: { time: '2026-11-21T17:49:22.000Z', epoch: 57 } },
  supersededBy: null,
  redeemed: null,
  problems: [SECONDS],
}

const blockTime = z
  .strictObject({
    time: isoTime,
    block: z.int().nullable().meta({ description: 'An estimate; null where none can be made' }),
  })
  .meta({ id: 'BlockTime', description: 'A time on an EVM chain', examples: [WITHDRAW.notAfter] })

const epochTime = z.strictObject({ time: isoTime, epoch: z.int().meta({ description: 'Exact' }) }).meta({
  id: 'EpochTime',
  description: 'An epoch on Filecoin',
  examples: [{ time: '2026-11-21T17:49:22.000Z', epoch: 57 }],
})

const limit = (description: string) => z.union([blockTime, epochTime]).nullable().meta({ description })

const blockBasis = z
  .strictObject({
    network: z.string(),
    block: z.int(),
    time: isoTime,
    secondsPerBlock: z.number().nullable().meta({ description: 'Measured; null where it cannot be' }),
  })
  .meta({ id: 'BlockBasis', description: 'The last indexed block', examples: [WITHDRAW.basis] })

const epochBasis = z
  .strictObject({ network: z.string(), epoch: z.int(), time: isoTime, secondsPerEpoch: z.number() })
  .meta({
    id: 'EpochBasis',
    description: 'The last indexed tipset',
    examples: [
      { network: 'filecoin:testnet', epoch: 74, time: '2026-11-21T17:48:47.000Z', secondsPerEpoch: 30 },
    ],
  })

const actor = z.enum(['borrower', 'lender'])

const action = z
  .strictObject({
    action: z.enum(ACTIONS),
    actor,
    address: z.string().nullable().meta({ description: "The sender's address; null while unknown" }),
    chain: z.string().meta({ description: 'The network as /api/status names it' }),
    notBefore: limit('The first time; null is no limit'),
    notAfter: limit('The last time; null is no limit'),
    basis: z.union([blockBasis, epochBasis]).nullable().meta({
      description: 'Where times and heights are converted from; null while nothing is indexed',
    }),
  })
  .meta({ id: 'LoanAction', description: 'An action of a party, now or later', examples: [WITHDRAW] })

const problem = z
  .strictObject({
    code: z.enum([...LOAN_CODES, ...VOUCHER_CODES]),
    message: z.string(),
    channel: z.string().nullable().meta({ description: 'Robust address of the channel concerned' }),
    voucher: z.string().nullable().meta({ description: 'The id of the voucher concerned' }),
  })
  .meta({
    id: 'LoanProblem',
    description: 'A mistake to notice in time',
    examples: [{ ...SECONDS, channel: CHANNEL, voucher: VOUCHER_ID }],
  })

export const nextAnswer = z
  .strictObject({
    status: z.literal('OK'),
    payload: z.strictObject({
      step: z.enum(STEPS).meta({ description: 'Follows from the states of the parts alone' }),
      actions: z.array(action),
      problems: z.array(problem),
    }),
  })
  .meta({
    id: 'LoanNextAnswer',
    description: 'The next actions of the parties of a loan',
    examples: [{ status: 'OK', payload: { step: 'withdraw principal', actions: [WITHDRAW], problems: [] } }],
  })

const voucherEpoch = z
  .strictObject({
    epoch: z.string().meta({ description: 'As the voucher writes it; 0 for none' }),
    time: isoTime.nullable(),
  })
  .meta({ id: 'VoucherEpoch', description: 'An epoch in a voucher', examples: [VOUCHER.timeLockMin] })

const voucher = z
  .strictObject({
    id: z.string().meta({ description: 'blake2b-256 of the signed bytes, hex' }),
    role: z.enum(['collateral', 'principal', 'payback']),
    channel: z.strictObject({
      network: z.string(),
      id: z.string().meta({ description: 'ID address' }),
      robust: z.string().meta({ description: 'Robust address' }),
      shown: z.boolean().meta({ description: 'Whether the lookup shows this channel in its role' }),
    }),
    use: z.enum(['seize', 'unlock', 'pay', 'other']),
    signedBy: actor.nullable().meta({ description: 'Null if neither known party signed' }),
    signer: z.string().nullable().meta({ description: 'Address of the signer' }),
    lane: z.string(),
    nonce: z.string(),
    amount: z.string().meta({ description: 'Whole FIL, all that the lane pays up to this voucher' }),
    secretHash: z.string().nullable().meta({ description: '0x hex of any length' }),
    timeLockMin: voucherEpoch,
    timeLockMax: voucherEpoch,
    minSettleHeight: voucherEpoch,
    text: z.string().nullable().meta({ description: 'Standard base64; null if longer than 2,048' }),
    redeemable: z.strictObject({
      now: z.boolean().meta({ description: 'In the next epoch, by the party that did not sign' }),
      from: limit('The first epoch; null is no limit'),
      until: limit('The last epoch; null is no limit'),
    }),
    supersededBy: z.string().nullable().meta({ description: 'The id of a later voucher of its lane' }),
    redeemed: z
      .strictObject({
        txHash: z.string().meta({ description: 'CID of the message' }),
        epoch: z.int(),
        time: isoTime.nullable(),
      })
      .nullable(),
    problems: z.array(z.strictObject({ code: z.enum(VOUCHER_CODES), message: z.string() })),
  })
  .meta({ id: 'LoanVoucher', description: 'A signed voucher, decoded and judged', examples: [VOUCHER] })

export const vouchersAnswer = z
  .strictObject({
    status: z.literal('OK'),
    payload: z.array(voucher).meta({ description: 'Sorted by role, lane and nonce' }),
    total: z.int().min(0).meta({ description: 'Known vouchers; more than are shown if they are many' }),
  })
  .meta({
    id: 'LoanVouchersAnswer',
    description: "Every known voucher of the loan's channels",
    examples: [{ status: 'OK', payload: [VOUCHER], total: 1 }],
  })
