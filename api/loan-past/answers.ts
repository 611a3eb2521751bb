import type { LoanType } from '../../shared/events/chain-event.ts'
import type { ChannelRole } from '../../shared/channels/voucher-use.ts'
import type { PastLoan, PastLookup } from '../queries/loans-past.ts'
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
export function partsOf({ at, derivedState, channels }: PastLoan): Record<string, Part> {
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
