import * as z from 'zod'

export const ALL_NETWORKS = 'ALL'

export const loanAssetsParams = z.object({
  networkId: z
    .string()
    .min(1)
    .max(64, 'networkId must have at most 64 characters')
    .meta({ description: 'An EVM chain id, or ALL', examples: [ALL_NETWORKS] }),
})

const loanAsset = z
  .strictObject({
    symbol: z.string().max(32).nullable().meta({
      description:
        'At most 32 visible characters; null until it was read, and where the token gives none such',
    }),
    decimals: z
      .int()
      .min(0)
      .max(255)
      .nullable()
      .meta({ description: 'Null where the token gives none, or more than 255' }),
    networkId: z.string().meta({ description: 'EVM chain id in decimal' }),
  })
  .meta({ id: 'LoanAsset', description: 'A token that loans name' })

export const loanAssets = z
  .strictObject({
    status: z.literal('OK'),
    payload: z.record(z.string(), loanAsset).meta({ description: 'Keys are EIP-55 addresses of tokens' }),
  })
  .meta({
    id: 'LoanAssets',
    description: 'The tokens that loans name',
    examples: [
      {
        status: 'OK',
        payload: {
          '0x5FbDB2315678afecb367f032d93F642f64180aa3': { symbol: 'TST', decimals: 18, networkId: '31337' },
        },
      },
    ],
  })
