import type { LoanType } from '../../shared/events/chain-event.ts'
import type { ChannelRole } from '../../shared/channels/voucher-use.ts'
import { MOST_BYTES } from '../queries/loan-lists.ts'
import type { PastLoan, PastLookup, PastPage } from '../queries/loans-past.ts'
import { explainChannel, explainContract, type Explained } from './explain.ts'
import { channelPart, contractPart, type Part } from './parts.ts'

/** (pure) Answers about the past, in the shape of those about the present. */

const CONTRACT_PART: Record<LoanType, string> = { ERC20FIL: 'erc20Loan', FILERC20: 'collateralLock' }

const CHANNEL_PARTS: Record<LoanType, [name: string, role: ChannelRole][]> = {
  ERC20FIL: [['filCollateral', 'collateral']],
  FILERC20: [
    ['filLoan', 'principal'],
    ['filPayback', 'payback'],
  ],
}

/** The parts of a lookup by their names; {} for a channel that does not exist then. */
function partsOf({ at, derivedState, channels }: PastLoan): Record<string, Part> {
  const { loanType } = at.loan
  const halves = CHANNEL_PARTS[loanType].map(([name, role]) => {
    const channel = channels.find((one) => one.role === role)
    return [name, channel === undefined ? {} : channelPart(at, channel)] as const
  })
  return { [CONTRACT_PART[loanType]]: contractPart(at, derivedState), ...Object.fromEntries(halves) }
}

/** The JSON of a lookup; `explains` adds the records that set each field of its parts. */
export function lookupJson(found: PastLookup, explains: boolean): string {
  const parts = Object.entries(partsOf(found)).map(([name, part]) => `"${name}":${JSON.stringify(part)},`)
  const payload = `${parts.join('')}"loanEvents":[${found.records}],"loanEventsTotal":${found.total}`
  const explain = explains ? `,"explain":${JSON.stringify(explanationOf(found))}` : ''
  return `{"status":"OK","payload":{${payload}}${explain}}`
}

/** The JSON of a page of requests or offers. */
export function ordersJson({ loans, rest }: PastPage): string {
  const entries = loans.map((loan) => {
    const { at, derivedState } = loan
    return { id: at.id, json: JSON.stringify(contractPart(at, derivedState)) }
  })
  return pageJson(entries, rest, (shown) => `[${shown.map(({ json }) => json).join(',')}]`)
}

/** The JSON of a page of an account's loans. */
export function accountJson({ loans, rest }: PastPage): string {
  const entries = loans.map((loan) => {
    const {
      id,
      loan: { loanType },
    } = loan.at
    return { id, loanType, json: JSON.stringify(accountEntry(loan)) }
  })
  return pageJson(entries, rest, (shown) => {
    const of = (type: LoanType): string =>
      shown.flatMap(({ loanType, json }) => (loanType === type ? [json] : [])).join(',')
    return `{"filLoans":[${of('FILERC20')}],"erc20Loans":[${of('ERC20FIL')}]}`
  })
}

/** Takes entries up to the limit of a page's bytes, at least one. */
function pageJson<Entry extends { id: number; json: string }>(
  entries: Entry[],
  rest: number | null,
  payload: (shown: Entry[]) => string,
): string {
  let bytes = 0
  const end = entries.findIndex(({ json }, index) => {
    bytes += Buffer.byteLength(json)
    return index > 0 && bytes > MOST_BYTES
  })
  const shown = end === -1 ? entries : entries.slice(0, end)
  const next = end === -1 ? rest : (shown.at(-1)?.id ?? rest)
  return `{"status":"OK","payload":${payload(shown)},"next":${next ?? 'null'}}`
}

/** The fields that a list of one's loans shows, beside the whole parts (queries/loan-lists.ts). */
function accountEntry(loan: PastLoan): Record<string, unknown> {
  const parts = partsOf(loan)
  const {
    at: {
      loan: { loanType, loanId },
    },
  } = loan
  const contract = parts[CONTRACT_PART[loanType]] ?? {}
  const field = (part: Part, name: string): string | null => part[name] ?? null
  if (loanType === 'ERC20FIL') {
    const names = ['principalAmount', 'interestAmount', 'borrower', 'lender', 'token', 'networkId', 'state']
    const fields = names.map((name) => [name, field(contract, name)])
    return { id: loanId, ...(Object.fromEntries(fields) as Part), ...parts }
  }
  const principal = parts['filLoan'] ?? {}
  return {
    id: loanId,
    principalAmount: field(principal, 'principalAmount') ?? field(contract, 'principalAmount'),
    network: field(principal, 'network'),
    ethBorrower: field(contract, 'borrower'),
    ethLender: field(contract, 'lender'),
    state: field(principal, 'state'),
    ...parts,
  }
}

function explanationOf({ at, derivedState, channels, recordsByKey }: PastLookup): Record<string, Explained> {
  const { loanType } = at.loan
  const halves = CHANNEL_PARTS[loanType].map(([name, role]): [string, Explained] => {
    const channel = channels.find((one) => one.role === role)
    return [name, channel === undefined ? {} : explainChannel(at, channel, recordsByKey)]
  })
  const contract = explainContract(at)
  const [[, first] = ['', {}]] = halves
  // The channel's progress is why the state is ahead of the contract.
  const state = derivedState === null ? [] : (first['state'] ?? [])
  return {
    [CONTRACT_PART[loanType]]: { ...contract, state: [...(contract['state'] ?? []), ...state] },
    ...Object.fromEntries(halves),
  }
}
