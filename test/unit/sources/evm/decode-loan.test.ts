import { AbiCoder, getAddress } from 'ethers'
import t from 'tap'
import { functionLayout } from '../../../../indexer/sources/evm/contracts.ts'
import { decodeLoan } from '../../../../indexer/sources/evm/decode-loan.ts'

const address = (number: number): string => getAddress(`0x${number.toString(16).padStart(40, '0')}`)
const word = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`

/** What `fetchLoan` returns, with another value in each place. */
function answer(
  role: 'erc20Loans' | 'erc20CollateralLock',
  details: number[],
  parties = [address(1), address(2)],
) {
  const { outputs } = functionLayout(role, 'fetchLoan')
  return AbiCoder.defaultAbiCoder().encode(outputs, [
    parties,
    ['0x03', '0x04'],
    [word(5), word(6)],
    ['0x07', '0x'],
    [9, 10, 11],
    details,
    word(12),
    address(13),
    1,
  ])
}

const COMMON = {
  borrower: address(1),
  lender: address(2),
  filBorrower: '0x03',
  filLender: '0x04',
  secretHashA1: word(5),
  secretHashB1: word(6),
  secretA1: '0x07',
  secretB1: '0x',
  loanExpiration: '9',
  loanExpirationPeriod: '11',
  paymentChannelId: word(12),
  token: address(13),
  state: 1,
}

void t.test('each value of fetchLoan has its name', (t) => {
  t.same(decodeLoan('erc20Loans', answer('erc20Loans', [20, 21, 22])), {
    ...COMMON,
    role: 'erc20Loans',
    acceptExpiration: '10',
    principal: '20',
    interest: '21',
    collateral: '22',
  })
  t.same(decodeLoan('erc20CollateralLock', answer('erc20CollateralLock', [20, 21, 22, 23, 24])), {
    ...COMMON,
    role: 'erc20CollateralLock',
    createdAt: '10',
    collateralAmount: '20',
    principalAmount: '21',
    lockPrice: '22',
    liquidationPrice: '23',
    interestRate: '24',
  })
  t.end()
})

void t.test('a loan of nobody is none, and what is no such answer does not decode', (t) => {
  t.equal(decodeLoan('erc20Loans', answer('erc20Loans', [0, 0, 0], [address(0), address(0)])), null)
  t.throws(() => decodeLoan('erc20Loans', answer('erc20CollateralLock', [20, 21, 22, 23, 24])))
  t.end()
})
