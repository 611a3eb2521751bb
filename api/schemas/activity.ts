import { z } from 'zod'
import { isoTime } from './common.ts'

/** Exactly these ten fields, in this order. */
export const activityRecord = z.strictObject({
  id: z.int().positive(),
  txHash: z.string(),
  event: z.string(),
  loanId: z.string(),
  blockchain: z.string(),
  networkId: z.string(),
  contractAddress: z.string().nullable(),
  loanType: z.enum(['ERC20FIL', 'FILERC20']),
  createdAt: isoTime,
  updatedAt: isoTime,
})

export const historyAnswer = z.strictObject({
  status: z.literal('OK'),
  /** Newest first, at most 25. */
  payload: z.array(activityRecord).max(25),
  pages: z.int().min(0),
})
