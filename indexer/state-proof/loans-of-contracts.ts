import { RetryableError } from '../../shared/errors.ts'
import { LOAN_TYPE_OF_ROLE, type ContractRole } from '../../shared/events/chain-event.ts'
import type { BlockRef } from '../../shared/events/chain-step.ts'
import type { EvmSource } from '../sources/evm/evm-source.ts'
import { loanIdOf } from '../sources/evm/watched-contracts.ts'
import type { LoanOfContract } from './compare-loans.ts'

/** The loans of a network's contracts, by the contracts' numbers and by their subjects in the log. */
export class LoansOfContracts {
  readonly #source: EvmSource
  /** Loans that each contract had made before its first block that is read, where that is known. */
  readonly #older = new Map<ContractRole, bigint>()

  constructor(source: EvmSource) {
    this.#source = source
  }

  older(role: ContractRole): bigint | null {
    return this.#older.get(role) ?? null
  }

  ofNumber(role: ContractRole, number: bigint): LoanOfContract | undefined {
    const contract = this.#source.contracts.find((one) => one.role === role)
    if (contract === undefined) return undefined
    const contractLoanId = String(number)
    const subject = `${LOAN_TYPE_OF_ROLE[role]}/${loanIdOf(contract, contractLoanId)}`
    const older = this.#older.get(role)
    return { role, contractLoanId, subject, beganInLog: older !== undefined && number > older }
  }

  /** Undefined for a subject that is no loan of these contracts. */
  ofSubject(subject: string): LoanOfContract | undefined {
    const number = /\d+$/.exec(subject)?.[0]
    if (number === undefined) return undefined
    return this.#source.contracts
      .map(({ role }) => this.ofNumber(role, BigInt(number)))
      .find((loan) => loan?.subject === subject)
  }

  /** Returns the loan by what is known now of the loans that are older than the log. */
  asKnown(loan: LoanOfContract): LoanOfContract {
    const older = this.#older.get(loan.role)
    return older === undefined ? loan : { ...loan, beganInLog: BigInt(loan.contractLoanId) > older }
  }

  /** Reads how many loans are older than the log, of contracts for which that is not known yet. */
  async learnOlder(final: BlockRef): Promise<void> {
    for (const { role, startBlock } of this.#source.contracts) {
      if (startBlock === 0) this.#older.set(role, 0n)
      if (this.#older.has(role) || startBlock > final.number) continue
      try {
        const before = await this.#source.finalHeader(final, startBlock - 1)
        this.#older.set(role, (await this.#source.proveLoanCounters(before)).get(role) ?? 0n)
      } catch (error) {
        // No endpoint has that state.
        if (!(error instanceof RetryableError)) throw error
      }
    }
  }
}
