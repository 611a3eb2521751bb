import type { ContractRole, HexText } from '../../../shared/events/chain-event.ts'
import type { RpcAnswer } from '../rpc/rpc-endpoint.ts'
import { decodeLoan, encodeFetchLoan } from './decode-loan.ts'
import { parseHex } from './hex.ts'

/** (pure) Identifies the contract at a configured address by answers that only the right one gives. */

export type ContractVerdict =
  | { is: 'right' }
  /** `looks` completes a message that begins with the address. */
  | { is: 'wrong'; looks: string }
  | { is: 'unsure'; looks: string }

export interface ContractAnswers {
  code: HexText
  /** Answers to {@link CONTRACT_QUESTIONS}, in the same order. */
  answers: readonly (RpcAnswer | undefined)[]
}

export const CONTRACT_NAMES: Record<ContractRole, string> = {
  erc20Loans: 'ERC20Loans',
  erc20CollateralLock: 'ERC20CollateralLock',
}
const OTHER_ROLE: Record<ContractRole, ContractRole> = {
  erc20Loans: 'erc20CollateralLock',
  erc20CollateralLock: 'erc20Loans',
}
/** `fetchLoan` has the same selector on both contracts. */
const FETCH_FIRST = encodeFetchLoan('erc20Loans', '1')
/** Asks for loans 1 and 0, then for `decimals()` and `totalSupply()`, which a token answers. */
export const CONTRACT_QUESTIONS: readonly HexText[] = [
  FETCH_FIRST,
  encodeFetchLoan('erc20Loans', '0'),
  '0x313ce567',
  '0x18160ddd',
]
const SELECTOR = FETCH_FIRST.slice(2, 10)
const DELEGATECALL = 'f4'

/**
 * The original contracts return zeros for an unknown loan, others revert. A revert alone proves nothing: the code must
 * then contain the function's selector or a DELEGATECALL.
 */
export function verifyContract(role: ContractRole, { code, answers }: ContractAnswers): ContractVerdict {
  if (code === '0x') return { is: 'wrong', looks: 'has no code' }
  const loans = answers.slice(0, 2).map(loanAnswer)
  if (loans.includes(role)) return { is: 'right' }
  const other = OTHER_ROLE[role]
  if (loans.includes(other)) {
    return { is: 'wrong', looks: `is an ${CONTRACT_NAMES[other]}: are the two swapped?` }
  }
  if (answers.slice(2).every(isWord)) return { is: 'wrong', looks: 'is a token' }
  if (loans.includes('nothing')) {
    return { is: 'wrong', looks: 'answers nothing to fetchLoan: a proxy without an implementation?' }
  }
  if (loans.includes('other data')) {
    return { is: 'wrong', looks: 'answers fetchLoan in another form: another contract, or another version' }
  }
  if (!loans.includes('revert')) return { is: 'unsure', looks: 'could not be asked for a loan' }
  if (code.includes(SELECTOR)) return { is: 'unsure', looks: 'has no loan yet that would tell its kind' }
  return code.includes(DELEGATECALL)
    ? { is: 'unsure', looks: 'reverts fetchLoan: a proxy without an implementation, or without a loan yet?' }
    : { is: 'wrong', looks: 'is a contract without fetchLoan' }
}

function loanAnswer(
  answer: RpcAnswer | undefined,
): ContractRole | 'nothing' | 'other data' | 'revert' | null {
  if (answer?.ok !== true) return answer?.kind === 'revert' ? 'revert' : null
  const data = parseHex(answer.result)
  if (data === null) return null
  if (data === '0x') return 'nothing'
  const roles: ContractRole[] = ['erc20Loans', 'erc20CollateralLock']
  return roles.find((role) => decodes(role, data)) ?? 'other data'
}

function decodes(role: ContractRole, data: HexText): boolean {
  try {
    decodeLoan(role, data)
    return true
  } catch {
    return false
  }
}

function isWord(answer: RpcAnswer | undefined): boolean {
  return answer?.ok === true && parseHex(answer.result, 32) !== null
}
