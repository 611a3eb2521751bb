import { concat, getAddress, getCreateAddress, MaxUint256 } from 'ethers'
import * as z from 'zod'
import { contracts, type Contract } from './artifacts.ts'
import { createRpc, hex, quantity, RpcRefusal, type Rpc } from './rpc.ts'
import { mine, receiptsOf, sendMany, withManualMining, type Transaction } from './transactions.ts'

/** All addresses are EIP-55 checksummed. */
export interface Deployment {
  erc20Loans: string
  erc20CollateralLock: string
  /** Contract wallets of the first account: one lends (and borrows FIL), the other borrows. */
  batcher: string
  borrowerBatcher: string
  tokens: { eighteen: string; six: string }
  badTokens: { noDecimals: string; absurdDecimals: string }
  /** Anvil's unlocked accounts. The first is the owner; the others hold tokens and are the loans' parties. */
  accounts: string[]
}

/** Seconds a lender has to accept a payback after the loan expired. */
export const acceptPeriod = 60
/** Price of one FIL in tokens, with 18 decimals. */
export const filPrice = 5_000_000_000_000_000_000n

const plentyOfTokens = 10n ** 36n

interface Part {
  contract: Contract
  arguments: unknown[]
}

/** Ordered like the first account's deployments, because its nonce determines each address. */
const parts: Part[] = [
  { contract: contracts.token, arguments: ['DUSD', 18] },
  { contract: contracts.token, arguments: ['DUSC', 6] },
  { contract: contracts.noDecimalsToken, arguments: [] },
  { contract: contracts.absurdDecimalsToken, arguments: [] },
  { contract: contracts.erc20Loans, arguments: [acceptPeriod] },
  { contract: contracts.erc20CollateralLock, arguments: [filPrice] },
  { contract: contracts.batcher, arguments: [] },
  { contract: contracts.batcher, arguments: [] },
]

/**
 * Deploys both markets, the tokens and the contract wallets on a fresh chain, distributes tokens and allowances, and
 * returns the addresses. Existing parts are left alone; a chain that holds something else throws.
 */
export async function deployContracts(url: string): Promise<Deployment> {
  const rpc = createRpc(url)
  const accounts = (await rpc.call(z.array(hex), 'eth_accounts')).map((address) => getAddress(address))
  const owner = accounts[0]
  if (owner === undefined) throw new Error('the node has no unlocked account')
  const deployment = addresses(owner, accounts)
  await withManualMining(rpc, async () => {
    await deployMissing(rpc, owner)
    if (!(await isStocked(rpc, deployment))) await perform(rpc, stocking(deployment, owner))
  })
  return deployment
}

function addressOf(owner: string, nonce: number): string {
  return getCreateAddress({ from: owner, nonce })
}

function addresses(owner: string, accounts: string[]): Deployment {
  return {
    tokens: { eighteen: addressOf(owner, 0), six: addressOf(owner, 1) },
    badTokens: { noDecimals: addressOf(owner, 2), absurdDecimals: addressOf(owner, 3) },
    erc20Loans: addressOf(owner, 4),
    erc20CollateralLock: addressOf(owner, 5),
    batcher: addressOf(owner, 6),
    borrowerBatcher: addressOf(owner, 7),
    accounts,
  }
}

async function deployMissing(rpc: Rpc, owner: string): Promise<void> {
  const codes = await rpc.all(
    hex,
    parts.map((_, nonce) => ({ method: 'eth_getCode', params: [addressOf(owner, nonce), 'latest'] })),
  )
  const count = await rpc.call(quantity, 'eth_getTransactionCount', owner, 'latest')
  const missing = parts.filter((part, nonce) => {
    if (codes[nonce] === part.contract.deployedBytecode) return false
    if (codes[nonce] !== '0x' || nonce < count)
      throw new Error('the chain holds other contracts than these: start it anew (delete its saved state)')
    return true
  })
  await perform(
    rpc,
    missing.map((part) => ({
      from: owner,
      data: concat([part.contract.bytecode, part.contract.interface.encodeDeploy(part.arguments)]),
    })),
  )
}

function allTokens({ tokens, badTokens }: Deployment): string[] {
  return [...Object.values(tokens), ...Object.values(badTokens)]
}

/** Checks the result of stocking's last transaction, which shows that all of it was done. */
async function isStocked(rpc: Rpc, { badTokens, borrowerBatcher, erc20CollateralLock }: Deployment) {
  const data = contracts.token.interface.encodeFunctionData('allowance', [
    borrowerBatcher,
    erc20CollateralLock,
  ])
  const allowance = await rpc.call(hex, 'eth_call', { to: badTokens.absurdDecimals, data }, 'latest')
  return BigInt(allowance) > 0n
}

/** Gives every party tokens and their allowance for both markets. */
function stocking(deployment: Deployment, owner: string): Transaction[] {
  const { accounts, batcher, borrowerBatcher, erc20Loans, erc20CollateralLock } = deployment
  const tokens = allTokens(deployment)
  const token = contracts.token.interface
  const approvals = [erc20Loans, erc20CollateralLock].map((market) =>
    token.encodeFunctionData('approve', [market, MaxUint256]),
  )
  const mints = [...accounts, batcher, borrowerBatcher].flatMap((holder) =>
    tokens.map((to) => ({
      from: owner,
      to,
      data: token.encodeFunctionData('mint', [holder, plentyOfTokens]),
    })),
  )
  const byAccounts = accounts.flatMap((from) =>
    tokens.flatMap((to) => approvals.map((data) => ({ from, to, data }))),
  )
  const byBatchers = [batcher, borrowerBatcher].map((to) => {
    const calls = tokens.flatMap((at) => approvals.map((data) => ({ to: at, data })))
    return { from: owner, to, data: contracts.batcher.interface.encodeFunctionData('batch', [calls]) }
  })
  return [...mints, ...byAccounts, ...byBatchers]
}

/** Sends and mines the transactions. Throws when one fails. */
async function perform(rpc: Rpc, transactions: Transaction[]): Promise<void> {
  if (transactions.length === 0) return
  const hashes = (await sendMany(rpc, transactions)).map((answer) => {
    if (answer instanceof RpcRefusal) throw answer
    return answer
  })
  await mine(rpc)
  const receipts = await receiptsOf(rpc, hashes)
  const failed = receipts.filter((receipt) => receipt?.status !== 1).length
  if (failed > 0) throw new Error(`${failed} of ${hashes.length} transactions of the deployment failed`)
}
