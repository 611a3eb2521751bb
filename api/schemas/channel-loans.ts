import * as z from 'zod'
import { canonicalAddress } from '../../shared/filecoin/address.ts'

export const channelParams = z.object({
  channel: z
    .string()
    .meta({
      description: 'A Filecoin address with either letter: the ID, or the robust address',
      examples: ['t01037'],
    })
    .transform((text, context) => {
      const found = canonicalAddress(text)
      if (found !== null) return found
      context.addIssue({ code: 'custom', message: 'channel must be a Filecoin address (f… or t…)' })
      return z.NEVER
    }),
})

const LOAN = { loanType: 'ERC20FIL', loanId: '1', role: 'collateral', network: 'filecoin:testnet' }

const channelLoan = z
  .strictObject({
    loanType: z.enum(['ERC20FIL', 'FILERC20']).meta({ description: 'The market of the loan' }),
    loanId: z.string().meta({ description: "The value that the loan's lookup takes" }),
    role: z
      .enum(['collateral', 'principal', 'payback'])
      .meta({ description: 'What the channel pays in that loan' }),
    network: z.string().meta({ description: "The channel's network, as in `/api/status`" }),
  })
  .meta({ id: 'ChannelLoan', description: 'The loan that a payment channel belongs to' })

export const channelLoans = z.strictObject({ status: z.literal('OK'), payload: z.array(channelLoan) }).meta({
  id: 'ChannelLoans',
  description: 'The loan of a payment channel, one for each network that has the channel',
  examples: [{ status: 'OK', payload: [LOAN] }],
})
