import * as z from 'zod'

/** The meaning of a field of a loan's part, and an example. */
type Meaning = readonly [description: string, example: string | null]

const BORROWER = '0xa513E6E4b8f2a923D98304ec87F64353C4D5C853'
const LENDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const HASH_A1 = '0xb53d374fa5078d22ae59cf7c3c5671e4bf5e8dac0f7bcdc4459d3348264f3de7'
const HASH_B1 = '0x0c92e1428ddcecc6f851d9242de56c736592a8c9c94f10242f848464796469ee'
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const LOANS = '0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9'
const LOCK = '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707'
const VOUCHER =
  'i0MAjQgAAFggtT03T6UHjSKuWc98PFZx5L9ejawPe83ERZ0zSCZPPef2AABKAF1mDotWiLj5MgCAWEIBuDIM6tRysNd+I//ZHx6vzO40XJ4bv9DiVpYZxPSsdD1PA5vwqX3UYRD8q8siMBN6bOgDiyYySx9dwyvFXIpUGAE='

/** Fields of the contracts' halves. */
export const CONTRACT_FIELDS = {
  contractLoanId: ["The contract's bare number of the loan", '1'],
  borrower: ['EIP-55 address of the borrower', BORROWER],
  lender: ['EIP-55 address of the lender', LENDER],
  filBorrower: [
    "Bytes on the contract: UTF-8 text of the borrower's Filecoin address, 0x hex",
    '0x743031303232',
  ],
  filLender: ["Bytes on the contract: UTF-8 text of the lender's Filecoin address, 0x hex", '0x743031303135'],
  secretHashA1: ["blake2b-256 of the borrower's secret, 0x hex", HASH_A1],
  secretHashB1: ["blake2b-256 of the lender's secret, 0x hex", HASH_B1],
  secretA1: ["The borrower's secret once it is public, 0x hex", '0x6162'],
  secretB1: ["The lender's secret once it is public, 0x hex", null],
  loanExpiration: ['When the loan ends, Unix seconds', '1795283285'],
  acceptExpiration: ['Until when the lender can accept the repayment, Unix seconds', '1795283345'],
  loanExpirationPeriod: ['Length of the loan, seconds', '31'],
  principalAmount: ['Lent amount, whole units of the token', '13697.064280037449960157'],
  interestAmount: ['Interest, whole units of the token', '201.346844916550514414'],
  interestRate: ['Interest as a share of the principal per year, 18 decimals', '0.05'],
  collateralAmount: ['Collateral, whole FIL', '1722.901167300308171058'],
  lockPrice: ['Price of FIL in the token when the offer was accepted', '1.5'],
  liquidationPrice: ['Price of FIL in the token at which the collateral was seized', null],
  paymentChannelId: [
    "bytes32 on the contract: UTF-8 text of the channel's ID address, padded with zeros, 0x hex",
    '0x7430313033370000000000000000000000000000000000000000000000000000',
  ],
  state: ['State on the contract', '4'],
  blockchain: ["The chain's configured name", 'DEVNET'],
  networkId: ['EVM chain id in decimal', '31337'],
  erc20LoansContract: ['EIP-55 address of the contract', LOANS],
  collateralLockContractAddress: ['EIP-55 address of the contract', LOCK],
  token: ['EIP-55 address of the token', TOKEN],
} as const satisfies Record<string, Meaning>

/** Fields of the payment channels' halves. */
export const CHANNEL_FIELDS = {
  paymentChannelId: ["The channel's ID address", 't01037'],
  paymentChannelAddress: ["The channel's robust address", 't2awhecrbr574isyarwew2uwwjjxzmc32e5o7damq'],
  ethBorrower: ["The borrower's EIP-55 address", BORROWER],
  ethLender: ["The lender's EIP-55 address", LENDER],
  filBorrower: ["The borrower's robust Filecoin address", 't1odd7vlkzel6ajqebo63dhrvll2tclqryp7s2eza'],
  filLender: ["The lender's robust Filecoin address", 't1fukgbedwy3a5yinjl3ldya33anlmhuhvl77bx2i'],
  amount: ['FIL in the channel, whole FIL', '1722.901167300308171058'],
  lockedAmount: ['FIL in the channel, whole FIL', '1722.901167300308171058'],
  principalAmount: ['FIL that the voucher lends, whole FIL', '1722.901167300308171058'],
  txHash: [
    'CID of the message that made the channel',
    'bafy2bzacec3djhurk7crnvveboqchipoiwhsnht5fi6givfdin4ojdwl35qbi',
  ],
  secretHashA1: ["blake2b-256 of the borrower's secret, 0x hex", HASH_A1],
  secretHashB1: ["blake2b-256 of the lender's secret, 0x hex", HASH_B1],
  secretA1: ["The borrower's secret once it is public: text if it is UTF-8, else 0x hex", 'b7c2dfe6025d5374'],
  secretB1: ["The lender's secret once it is public: text if it is UTF-8, else 0x hex", null],
  signedVoucher: ['The voucher that pays, base64 of its CBOR', VOUCHER],
  unlockSignedVoucher: ["The lender's voucher that unlocks the collateral, base64 of its CBOR", null],
  network: ['The Filecoin network', 'testnet'],
  settlingAtHeight: ['Epoch from which the channel can be collected; null until it is settled', '58'],
  settlingAtEstTimestamp: ["That epoch's time on the network's clock, Unix seconds", '1795283362'],
  erc20LoanId: ["The loan's key, as the lookup takes it", '1'],
  erc20LoanContractId: ["The contract's bare number of the loan", '1'],
  erc20LoansContract: ["EIP-55 address of the loan's contract", LOANS],
  erc20LoansNetworkId: ["EVM chain id of the loan's contract", '31337'],
  collateralLockId: ["The loan's key, as the lookup takes it", '1'],
  collateralLockContractId: ["The contract's bare number of the loan", '1'],
  collateralLockContractAddress: ["EIP-55 address of the loan's contract", LOCK],
  collateralLockNetworkId: ["EVM chain id of the loan's contract", '31337'],
  state: ['State of the channel', '4'],
} as const satisfies Record<string, Meaning>

/** Builds fields of text or null in the given order; `special` replaces the meanings of some. */
export function fields<Name extends string, Wanted extends Name>(
  meanings: Record<Name, Meaning>,
  names: readonly Wanted[],
  special: Partial<Record<Wanted, Meaning>> = {},
): Record<Wanted, z.ZodNullable<z.ZodString>> {
  const entries = names.map((name) => {
    const [description, example] = special[name] ?? meanings[name]
    return [
      name,
      z
        .string()
        .nullable()
        .meta({ description, examples: [example] }),
    ]
  })
  return Object.fromEntries(entries) as Record<Wanted, z.ZodNullable<z.ZodString>>
}

/** An object of the examples of its fields. */
export function exampleOf(shape: Record<string, z.ZodType>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, field]) => [name, (field.meta()?.['examples'] as unknown[])[0]]),
  )
}
