import { Contract, Interface, JsonRpcProvider, getAddress, type LogDescription } from 'ethers'
import { readFileSync } from 'node:fs'
import type { Db } from '../../shared/db/connect.ts'
import { miscounts } from './counted-history.ts'
import { recordRows } from './log-views.ts'

/**
 * An independent check, written against ethers and the compiled contracts' ABI without the indexer's code. Logs of the
 * node and records must match one to one, and every loan must equal its contract's `fetchLoan`.
 */

interface Deployment {
  erc20Loans: string
  erc20CollateralLock: string
}

export interface Comparison {
  logs: number
  loans: number
  fields: number
  differences: string[]
}

const ABI = {
  erc20Loans: abiOf('ERC20Loans'),
  erc20CollateralLock: abiOf('ERC20CollateralLock'),
}

function abiOf(name: string): Interface {
  const file = new URL(`../../devnet/contracts/out/${name}.json`, import.meta.url)
  const artifact = JSON.parse(readFileSync(file, 'utf8')) as {
    abi: ConstructorParameters<typeof Interface>[0]
  }
  return new Interface(artifact.abi)
}

/** Compares the index with the node up to and including the index's last block. */
export async function compareWithChain(db: Db, rpcUrl: string, deployment: Deployment): Promise<Comparison> {
  const provider = new JsonRpcProvider(rpcUrl, 31337, { staticNetwork: true })
  try {
    const position = await db
      .selectFrom('ledger.chain_position')
      .selectAll()
      .where('network', '=', 'evm:31337')
      .executeTakeFirstOrThrow()
    const block = position.number ?? -1
    const differences: string[] = []
    const theirs = await provider.getBlock(block)
    if (theirs?.hash !== position.hash)
      differences.push(`block ${block}: ours ${position.hash ?? '-'}, theirs ${theirs?.hash ?? '-'}`)
    const logs = await compareRecords(db, provider, deployment, block, differences)
    const { loans, fields } = await compareLoans(db, provider, deployment, block, differences)
    return { logs, loans, fields, differences }
  } finally {
    provider.destroy()
  }
}

async function compareRecords(
  db: Db,
  provider: JsonRpcProvider,
  deployment: Deployment,
  block: number,
  differences: string[],
): Promise<number> {
  const wanted: string[] = []
  for (const role of ['erc20Loans', 'erc20CollateralLock'] as const) {
    const address = getAddress(deployment[role])
    for (const log of await provider.getLogs({ address, fromBlock: 0, toBlock: block })) {
      const parsed: LogDescription | null = ABI[role].parseLog(log)
      if (parsed === null) continue
      const loanType = role === 'erc20Loans' ? 'ERC20FIL' : 'FILERC20'
      wanted.push(
        [log.transactionHash, parsed.name, String(parsed.args['loanId']), '31337', address, loanType].join(
          ' ',
        ),
      )
    }
  }
  const ofContracts = (await recordRows(db)).filter(({ network }) => network === null)
  const found = ofContracts.map((row) =>
    [row.tx_hash, row.event, row.loan_id, row.network_id, row.contract_address ?? '', row.loan_type].join(
      ' ',
    ),
  )
  compareBags(wanted, found, differences)
  differences.push(...(await miscounts(db)))
  return wanted.length
}

export function compareBags(wanted: string[], found: string[], differences: string[]): void {
  const counts = new Map<string, number>()
  for (const line of wanted) counts.set(line, (counts.get(line) ?? 0) + 1)
  for (const line of found) counts.set(line, (counts.get(line) ?? 0) - 1)
  for (const [line, count] of counts) {
    if (count > 0) differences.push(`missing ${count} x ${line}`)
    if (count < 0) differences.push(`too many ${-count} x ${line}`)
  }
}

interface FetchedLoan {
  actors: string[]
  filAddresses: string[]
  secretHashes: string[]
  secrets: string[]
  expirations: bigint[]
  details: bigint[]
  paymentChannelId: string
  token: string
  state: bigint
}

async function compareLoans(
  db: Db,
  provider: JsonRpcProvider,
  deployment: Deployment,
  block: number,
  differences: string[],
): Promise<{ loans: number; fields: number }> {
  const loans = await db.selectFrom('projection.loans').selectAll().execute()
  let fields = 0
  const decimals = new Map<string, bigint>()
  for (const loan of loans) {
    const role = loan.loan_type === 'ERC20FIL' ? 'erc20Loans' : 'erc20CollateralLock'
    const part = loan.evm_part as Record<string, string | null>
    const contract = new Contract(deployment[role], ABI[role], provider)
    const fetched = toLoan(
      await contract.getFunction('fetchLoan').staticCall(part['contractLoanId'], { blockTag: block }),
    )
    if (!decimals.has(fetched.token)) {
      const token = new Contract(fetched.token, ['function decimals() view returns (uint8)'], provider)
      decimals.set(fetched.token, (await token.getFunction('decimals').staticCall()) as bigint)
    }
    const scale = decimals.get(fetched.token) ?? 0n
    const expected = role === 'erc20Loans' ? erc20Loan(fetched, scale) : collateralLock(fetched, scale)
    for (const [field, value] of Object.entries(expected)) {
      fields += 1
      const ours = part[field] ?? null
      const same = Array.isArray(value) ? value.includes(ours) : value === ours
      if (!same)
        differences.push(
          `${loan.loan_type} ${loan.loan_id} ${field}: ours ${ours ?? 'null'}, theirs ${String(value)}`,
        )
    }
  }
  const wanted = await provider.getLogs({
    address: [deployment.erc20Loans, deployment.erc20CollateralLock],
    toBlock: block,
    fromBlock: 0,
  })
  const made = wanted.filter((log) =>
    ['CreateLoanOffer', 'CreateBorrowRequest'].includes(
      (ABI.erc20Loans.parseLog(log) ?? ABI.erc20CollateralLock.parseLog(log))?.name ?? '',
    ),
  )
  if (made.length !== loans.length)
    differences.push(`${made.length} loans were made, ${loans.length} are in the index`)
  return { loans: loans.length, fields }
}

function toLoan(answer: unknown): FetchedLoan {
  const [actors, filAddresses, secretHashes, secrets, expirations, details, paymentChannelId, token, state] =
    answer as [string[], string[], string[], string[], bigint[], bigint[], string, string, bigint]
  return { actors, filAddresses, secretHashes, secrets, expirations, details, paymentChannelId, token, state }
}

type Expected = Record<string, string | null | (string | null)[]>

const at = <T>(items: T[], index: number): T => {
  const item = items[index]
  if (item === undefined) throw new Error(`fetchLoan answered no item ${index}`)
  return item
}
const orNull = (text: string, none: RegExp): string | null => (none.test(text) ? null : text)
const ZERO = /^0x0*$/

/** The contract cannot distinguish an empty text, or zero bytes, from an unset one; events can. */
const noneOrEmpty = (text: string): string | (string | null)[] => (ZERO.test(text) ? [null, text] : text)

function common(loan: FetchedLoan): Expected {
  const borrower = at(loan.actors, 0)
  const lender = at(loan.actors, 1)
  return {
    borrower: orNull(borrower, ZERO),
    lender: orNull(lender, ZERO),
    filBorrower: noneOrEmpty(at(loan.filAddresses, 0)),
    filLender: noneOrEmpty(at(loan.filAddresses, 1)),
    secretHashA1: noneOrEmpty(at(loan.secretHashes, 0)),
    secretHashB1: noneOrEmpty(at(loan.secretHashes, 1)),
    secretA1: noneOrEmpty(at(loan.secrets, 0)),
    secretB1: noneOrEmpty(at(loan.secrets, 1)),
    paymentChannelId: noneOrEmpty(loan.paymentChannelId),
    token: loan.token,
    state: String(loan.state),
  }
}

function erc20Loan(loan: FetchedLoan, decimals: bigint): Expected {
  const [loanExpiration = 0n, acceptExpiration = 0n, period = 0n] = loan.expirations
  const expected: Expected = {
    ...common(loan),
    loanExpiration: loanExpiration === 0n ? null : String(loanExpiration),
    acceptExpiration: acceptExpiration === 0n ? null : String(acceptExpiration),
    loanExpirationPeriod: String(period),
  }
  // The contract zeroes amounts when it pays them out, so only a lookup still knows them.
  addAmount(expected, 'principalAmount', at(loan.details, 0), decimals)
  addAmount(expected, 'interestAmount', at(loan.details, 1), decimals)
  addAmount(expected, 'collateralAmount', at(loan.details, 2), 18n)
  return expected
}

function collateralLock(loan: FetchedLoan, decimals: bigint): Expected {
  const [loanExpiration = 0n, , period = 0n] = loan.expirations
  const expected: Expected = {
    ...common(loan),
    loanExpiration: loanExpiration === 0n ? null : String(loanExpiration),
    loanExpirationPeriod: String(period),
  }
  addAmount(expected, 'collateralAmount', at(loan.details, 0), decimals)
  addAmount(expected, 'principalAmount', at(loan.details, 1), 18n)
  addAmount(expected, 'lockPrice', at(loan.details, 2), 18n)
  addAmount(expected, 'liquidationPrice', at(loan.details, 3), 18n)
  addAmount(expected, 'interestRate', at(loan.details, 4), 18n)
  // The contract emits the secret of a cancelled request and does not store it.
  if (loan.state === 4n) delete expected['secretA1']
  return expected
}

function addAmount(expected: Expected, field: string, amount: bigint, decimals: bigint): void {
  if (amount !== 0n) expected[field] = decimal(amount, decimals)
}

/** Divides instead of cutting text, to stay independent of the code under test. */
export function decimal(amount: bigint, decimals: bigint): string {
  const unit = 10n ** decimals
  let rest = amount % unit
  let fraction = ''
  for (let place = unit / 10n; rest > 0n; place /= 10n) {
    fraction += String(rest / place)
    rest %= place
  }
  return String(amount / unit) + (fraction === '' ? '' : `.${fraction}`)
}
