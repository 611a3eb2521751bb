import { contracts } from './artifacts.ts'
import type { Deployment } from './deploy.ts'
import { bytesText, channelIdBytes, namedSecret, secretHash } from './loan-texts.ts'
import { lastLoanId } from './loan-reader.ts'
import { createRpc } from './rpc.ts'
import { mine, receiptsOf, sendMany, withManualMining } from './transactions.ts'
import type { Market } from './loan-life.ts'

/** Zero is legal in every bytes32 of both contracts. */
export const ZERO_BYTES32 = `0x${'0'.repeat(64)}`
const PERIOD = 36_000
const PRINCIPAL = 1_000_000n
const COLLATERAL = 5n * 10n ** 18n

/** The contract's loan numbers, by quirk. */
export interface QuirkLoans {
  cancelledRequest: number
  zeroOffer: number
  zeroApproval: number
  acceptedUnapproved: number
  acceptedUnpaid: number
  acceptedTwice: number
  acceptedCancelled: number
  zeroRequest: number
}

/**
 * Plays sequences that the contracts allow and no dapp makes: zero hashes and channels, a repayment accepted in any
 * state, twice, by anybody. The deployment's accounts must hold tokens. Throws when the node refuses a call.
 */
export async function playQuirks(rpcUrl: string, deployment: Deployment): Promise<QuirkLoans> {
  const rpc = createRpc(rpcUrl)
  const [, lender = '', borrower = '', stranger = ''] = deployment.accounts
  const token = deployment.tokens.six
  const secret = (name: string): Uint8Array => namedSecret(`quirks/${name}`)
  const hash = (name: string): string => secretHash(secret(name))

  async function send(from: string, market: Market, method: string, ...args: unknown[]): Promise<void> {
    const data = contracts[market].interface.encodeFunctionData(method, args)
    const [sent] = await sendMany(rpc, [{ from, to: deployment[market], data }])
    await mine(rpc)
    const [receipt] = typeof sent === 'string' ? await receiptsOf(rpc, [sent]) : []
    if (receipt?.status !== 1) throw new Error(`${method} was refused: ${String(sent)}`)
  }

  const count = (market: Market): Promise<number> => lastLoanId(rpc, deployment, market)

  async function offer(hashB1: string): Promise<number> {
    await send(lender, 'erc20Loans', 'createLoanOffer', hashB1, '0x', PRINCIPAL, 7n, token, PERIOD)
    return count('erc20Loans')
  }
  async function approve(loanId: number, hashA1: string, channel: string): Promise<void> {
    const agreed = [loanId, borrower, '0x', hashA1, channel, COLLATERAL]
    await send(lender, 'erc20Loans', 'approveRequest', ...agreed)
  }
  async function approved(name: string): Promise<number> {
    const loanId = await offer(hash(`${name} b1`))
    await approve(loanId, hash(`${name} a1`), channelIdBytes(900_000_000 + loanId))
    return loanId
  }
  const withdraw = (loanId: number, name: string): Promise<void> =>
    send(borrower, 'erc20Loans', 'withdraw', loanId, bytesText(secret(`${name} a1`)))
  const accept = (from: string, loanId: number, name: string): Promise<void> =>
    send(from, 'erc20Loans', 'acceptRepayment', loanId, bytesText(secret(`${name} b1`)))
  async function request(hashA1: string): Promise<number> {
    const asked = [hashA1, '0x', PRINCIPAL, token, COLLATERAL, 10n ** 17n, PERIOD]
    await send(borrower, 'erc20CollateralLock', 'createBorrowRequest', ...asked)
    return count('erc20CollateralLock')
  }

  return withManualMining(rpc, async () => {
    const cancelledRequest = await request(hash('request a1'))
    const shown = bytesText(secret('request a1'))
    await send(borrower, 'erc20CollateralLock', 'cancelBorrowRequest', cancelledRequest, shown)

    const zeroOffer = await offer(ZERO_BYTES32)
    const zeroApproval = await offer(hash('zero approval b1'))
    await approve(zeroApproval, ZERO_BYTES32, ZERO_BYTES32)

    const acceptedUnapproved = await approved('unpaid 1')
    await accept(stranger, acceptedUnapproved, 'unpaid 1')
    const acceptedUnpaid = await approved('unpaid 2')
    await withdraw(acceptedUnpaid, 'unpaid 2')
    await accept(lender, acceptedUnpaid, 'unpaid 2')
    const acceptedTwice = await approved('twice')
    await withdraw(acceptedTwice, 'twice')
    await send(borrower, 'erc20Loans', 'payback', acceptedTwice)
    await accept(stranger, acceptedTwice, 'twice')
    await accept(borrower, acceptedTwice, 'twice')
    const acceptedCancelled = await approved('cancelled')
    const own = bytesText(secret('cancelled b1'))
    await send(lender, 'erc20Loans', 'cancelLoan', acceptedCancelled, own)
    await accept(stranger, acceptedCancelled, 'cancelled')

    const zeroRequest = await request(ZERO_BYTES32)
    const agreed = [zeroRequest, lender, '0x', ZERO_BYTES32, ZERO_BYTES32, COLLATERAL]
    await send(borrower, 'erc20CollateralLock', 'acceptOffer', ...agreed)
    return {
      ...{ cancelledRequest, zeroOffer, zeroApproval, acceptedUnapproved, acceptedUnpaid, acceptedTwice },
      ...{ acceptedCancelled, zeroRequest },
    }
  })
}
