import * as z from 'zod'

/** The shape of NETWORKS_FILE. Unknown keys are errors: a misspelt key would silently take its default. */

const httpUrl = z
  .string()
  .refine(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    'must be an http:// or https:// URL',
  )
const wsUrl = z
  .string()
  .refine(
    (text) => URL.canParse(text) && /^wss?:$/.test(new URL(text).protocol),
    'must be a ws:// or wss:// URL',
  )

/** Reads an explorer's address, in which `{name}` stands once for what is shown, and not in the host. */
const explorerUrl = (name: string) =>
  z
    .string()
    .max(500)
    .refine((text) => {
      if (!URL.canParse(text)) return false
      const { protocol, host, username, password } = new URL(text)
      return protocol === 'https:' && username + password === '' && /^[a-z0-9.:-]+$/.test(host)
    }, 'must be an https:// URL')
    .refine((text) => text.split(`{${name}}`).length === 2, `must have {${name}} in it, once`)
    .nullable()
    .default(null)

/** The page links to it. Null: no links. */
const explorerSchema = z
  .strictObject({ transaction: explorerUrl('transaction'), address: explorerUrl('address') })
  .nullable()
  .optional()

const deploymentSchema = z.strictObject({
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex digits'),
  startBlock: z.int().min(0).default(0),
  idPrefix: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9]{0,15}$/, 'must be a letter and up to 15 more letters or digits')
    .nullable()
    .default(null),
})

const evmNetworkSchema = z
  .strictObject({
    blockchain: z.string().min(1).max(64),
    networkId: z.string().regex(/^[1-9]\d{0,15}$/, 'must be the chain id as decimal text'),
    rpcUrls: z.array(httpUrl).min(1, 'must name at least one URL'),
    wsUrl: wsUrl.nullable().default(null),
    confirmations: z.int().min(0).max(10_000).default(0),
    maxBlockRange: z.int().min(1).max(1_000_000).default(2000),
    pollIntervalMs: z.int().min(10).max(600_000).default(1000),
    explorer: explorerSchema,
    erc20Loans: deploymentSchema.optional(),
    erc20CollateralLock: deploymentSchema.optional(),
  })
  .refine(
    (network) => network.erc20Loans ?? network.erc20CollateralLock,
    'names neither erc20Loans nor erc20CollateralLock',
  )
  .refine(
    ({ erc20Loans, erc20CollateralLock }) =>
      erc20Loans === undefined ||
      erc20Loans.address.toLowerCase() !== erc20CollateralLock?.address.toLowerCase(),
    'erc20Loans and erc20CollateralLock have the same address',
  )

const filecoinNetworkSchema = z.strictObject({
  /** The name in records: `mainnet`, `testnet`. */
  networkId: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be a name such as testnet or mainnet'),
  rpcUrls: z.array(httpUrl).min(1, 'must name at least one URL'),
  /** A JWT; `read` is enough, but the node's voucher store requires `write`. */
  token: z.string().min(1).nullable().default(null),
  startEpoch: z.int().min(0).default(0),
  /** Epochs behind the newest executed tipset. */
  confidence: z.int().min(0).max(900).default(0),
  pollIntervalMs: z.int().min(10).max(600_000).default(5000),
  readVoucherStore: z.boolean().default(true),
  /** The power table of F3 with which certificates of finality are verified from that instance on. */
  certificates: z
    .strictObject({
      instance: z.int().min(0),
      powerTable: z.string().regex(/^bafy2bza[a-z2-7]{54}$/, 'must be the CID of a power table'),
    })
    .nullable()
    .optional(),
  explorer: explorerSchema,
})

export const networksSchema = z
  .strictObject({
    evm: z.array(evmNetworkSchema).default([]),
    filecoin: z.array(filecoinNetworkSchema).default([]),
  })
  .transform((networks) => ({ ...networks, evm: withDeployments(networks.evm) }))
  .superRefine((networks, context) => {
    for (const message of collisions(networks.evm))
      context.addIssue({ code: 'custom', message, path: ['evm'] })
    const ids = networks.filecoin.map(({ networkId }) => networkId)
    for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index)))
      context.addIssue({
        code: 'custom',
        message: `two networks have the networkId ${id}`,
        path: ['filecoin'],
      })
  })

export type EvmNetwork = z.infer<typeof evmNetworkSchema> & {
  /** The idPrefix of a chain's further listing, part of its key; missing for the first listing. */
  deployment?: string
}
export type FilecoinNetwork = z.infer<typeof filecoinNetworkSchema>
export type Networks = z.infer<typeof networksSchema>

/**
 * The name of an EVM network in tables, queues, locks and commands: `evm:<chain id>`. Each further deployment listed on
 * the same chain is `evm:<chain id>:<idPrefix>`.
 */
export function networkKey({ networkId, deployment }: Pick<EvmNetwork, 'networkId' | 'deployment'>): string {
  return deployment === undefined ? `evm:${networkId}` : `evm:${networkId}:${deployment}`
}

/** The name of a Filecoin network: `filecoin:<network id>`. */
export function filecoinNetworkKey(network: Pick<FilecoinNetwork, 'networkId'>): string {
  return `filecoin:${network.networkId}`
}

/** The blockchain in all records from Filecoin. */
export const FILECOIN_BLOCKCHAIN = 'FIL'

/** The first listing of a chain keeps the plain key, so that a second one renames nothing already indexed. */
function withDeployments(networks: z.infer<typeof evmNetworkSchema>[]): EvmNetwork[] {
  const listed = new Set<string>()
  return networks.map((network) => {
    const { networkId, erc20Loans, erc20CollateralLock } = network
    if (!listed.has(networkId)) {
      listed.add(networkId)
      return network
    }
    return { ...network, deployment: erc20Loans?.idPrefix ?? erc20CollateralLock?.idPrefix ?? '' }
  })
}

/** Loan ids must not depend on the order of reading chains, so two deployments may never share them. */
function collisions(networks: EvmNetwork[]): string[] {
  const messages: string[] = []
  const seen = new Set<string>()
  const claim = (what: string, message: string): void => {
    if (seen.has(what)) messages.push(message)
    seen.add(what)
  }
  for (const network of networks) {
    const { networkId, deployment } = network
    if (deployment === '')
      messages.push(`the chain ${networkId} is listed again: give that deployment an idPrefix`)
    else
      claim(
        networkKey(network),
        `two deployments on chain ${networkId} have the idPrefix "${deployment ?? ''}"`,
      )
    for (const role of ['erc20Loans', 'erc20CollateralLock'] as const) {
      const contract = network[role]
      if (contract === undefined) continue
      claim(
        `${networkId}/${contract.address.toLowerCase()}`,
        `the contract ${contract.address} on chain ${networkId} is configured twice`,
      )
      const prefix = contract.idPrefix === null ? 'no idPrefix' : `the idPrefix "${contract.idPrefix}"`
      claim(
        `${role}/${contract.idPrefix ?? ''}`,
        `two deployments of ${role} have ${prefix}: their loan ids would collide`,
      )
    }
  }
  return messages
}
