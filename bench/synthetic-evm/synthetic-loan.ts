import type { ContractRole, EvmEventKind } from '../../shared/events/chain-event.ts'
import { hash } from '../../test/helpers/random-chain.ts'
import { addressWord, bytes, bytes32Word, encodeAbi, fixedList, word, type AbiValue } from './encode-abi.ts'
import { textBytes, type Parties } from './parties.ts'

/** The result of a loan's move: one log for each of its kinds. */
export interface LoanLog {
  kind: EvmEventKind
  /** Hex, no `0x`. */
  data: string
  args: Record<string, string>
  /** Terms that the event does not carry. */
  terms: Record<string, string>
  tokenDecimals: number | null
}

/** Each element of a story is one call of the contract. */
const STORIES: readonly (readonly [ContractRole, readonly (readonly EvmEventKind[])[]])[] = [
  ['erc20Loans', [['CreateLoanOffer'], ['ApproveRequest'], ['Withdraw'], ['Payback'], ['AcceptRepayment']]],
  ['erc20CollateralLock', [['CreateBorrowRequest'], ['AcceptOffer'], ['UnlockCollateral']]],
  ['erc20Loans', [['CreateLoanOffer'], ['ApproveRequest'], ['Withdraw'], ['Payback'], ['RefundPayback']]],
  [
    'erc20CollateralLock',
    [['CreateBorrowRequest'], ['AcceptOffer'], ['SeizeCollateral', 'UnlockRefundableCollateral']],
  ],
  ['erc20Loans', [['CreateLoanOffer'], ['CancelLoan']]],
  ['erc20CollateralLock', [['CreateBorrowRequest'], ['CancelBorrowRequest']]],
  ['erc20Loans', [['CreateLoanOffer'], ['ApproveRequest'], ['CancelLoan']]],
]

/** Contract states by the event that leads to them. */
const STATES: Partial<Record<EvmEventKind, number>> = {
  ...{ ApproveRequest: 1, Withdraw: 2, Payback: 3, RefundPayback: 4, AcceptRepayment: 5, CancelLoan: 6 },
  ...{ AcceptOffer: 1, SeizeCollateral: 2, UnlockCollateral: 3, CancelBorrowRequest: 4 },
}

const ZERO_WORD = '0'.repeat(64)
const ACCEPT_PERIOD_S = 3 * 86_400

/** One loan: its story, the contract's answer after each move, and the truth that follows. */
export class SyntheticLoan {
  readonly role: ContractRole
  readonly id: string
  /** The answers of `fetchLoan` from each block on, without `0x`; ascending. */
  readonly answers: { block: number; data: string }[] = []
  readonly lender: Parties['people'][number]
  readonly borrower: Parties['people'][number]
  readonly token: Parties['tokens'][number]
  readonly hashA1: string
  readonly hashB1: string
  readonly secretA1: string
  readonly secretB1: string
  readonly channel: string
  /** Base units: the lent (or locked) amount on the EVM chain, the interest, and attoFIL on the other side. */
  readonly amount: bigint
  readonly interest: bigint
  readonly fil: bigint
  readonly price: bigint
  readonly periodS: number
  readonly told = new Set<EvmEventKind>()
  agreedS = 0
  state = 0
  lastBlock = -1
  readonly #story: readonly (readonly EvmEventKind[])[]
  #next = 0

  constructor(parties: Parties, seed: number, number: number, idOf: (role: ContractRole) => string) {
    const bytesOf = hash(seed, 'loan', number)
    const pick = <T>(list: readonly T[], at: number): T => {
      const item = list[Number.parseInt(bytesOf.slice(2 + at * 6, 8 + at * 6), 16) % list.length]
      if (item === undefined) throw new Error('an empty list')
      return item
    }
    const [role, story] = pick(STORIES, 0)
    this.role = role
    this.#story = story
    this.id = idOf(role)
    this.lender = pick(parties.people, 1)
    this.borrower = pick(parties.people, 2)
    this.token = pick(parties.tokens, 3)
    this.secretA1 = textBytes(hash(seed, 'a1', number).slice(2))
    this.secretB1 = textBytes(hash(seed, 'b1', number).slice(2))
    this.hashA1 = hash(seed, 'hash a1', number)
    this.hashB1 = hash(seed, 'hash b1', number)
    this.channel = textBytes(`t0${1_000_000 + number}`).padEnd(66, '0')
    this.amount = BigInt(`0x${bytesOf.slice(26, 42)}`) + 1n
    this.interest = this.amount / 50n + 1n
    this.fil = BigInt(`0x${bytesOf.slice(42, 58)}`) + 1n
    this.price = BigInt(`0x${bytesOf.slice(58, 66)}`) * 10n ** 12n + 1n
    this.periodS = 86_400 * (1 + (number % 90))
  }

  get isOver(): boolean {
    return this.#next >= this.#story.length
  }

  /** Number of moves so far. */
  get moves(): number {
    return this.#next
  }

  /** Number of logs of the next move. */
  get nextLogs(): number {
    return this.#story[this.#next]?.length ?? 0
  }

  advance(block: { number: number; timeS: number }): LoanLog[] {
    const kinds = this.#story[this.#next] ?? []
    this.#next += 1
    this.lastBlock = block.number
    for (const kind of kinds) {
      this.told.add(kind)
      this.state = STATES[kind] ?? this.state
      if (kind === 'ApproveRequest' || kind === 'AcceptOffer') this.agreedS = block.timeS
    }
    this.answers.push({ block: block.number, data: this.#fetchLoan(block.timeS) })
    return kinds.map((kind) => this.#log(kind))
  }

  get loanExpiration(): number {
    return this.agreedS + this.periodS
  }

  get acceptExpiration(): number {
    return this.loanExpiration + ACCEPT_PERIOD_S
  }

  #log(kind: EvmEventKind): LoanLog {
    const { lender, borrower, token } = this
    const id = word(BigInt(this.id))
    const encoded = (...values: AbiValue[]): string => encodeAbi([id, ...values])
    const tokenLog = (
      party: { name: 'lender' | 'borrower' } | null,
      amountName: string,
      secret?: { name: string; value: string },
    ): Pick<LoanLog, 'args' | 'data' | 'tokenDecimals'> => ({
      data: encoded(
        ...(party === null ? [] : [addressWord(this[party.name].evm)]),
        word(this.amount),
        addressWord(token.address),
        ...(secret === undefined ? [] : [bytes(secret.value)]),
      ),
      args: {
        ...(party === null ? {} : { [party.name]: this[party.name].evm }),
        [amountName]: this.amount.toString(),
        token: token.address,
        ...(secret === undefined ? {} : { [secret.name]: secret.value }),
      },
      tokenDecimals: token.decimals,
    })
    const [a1, b1] = [
      { name: 'secretA1', value: this.secretA1 },
      { name: 'secretB1', value: this.secretB1 },
    ]
    const period = { loanExpirationPeriod: String(this.periodS) }
    switch (kind) {
      case 'CreateLoanOffer':
        return {
          kind,
          ...tokenLog({ name: 'lender' }, 'principal'),
          terms: {
            secretHashB1: this.hashB1,
            filLender: lender.fil,
            interest: this.interest.toString(),
            ...period,
          },
        }
      case 'ApproveRequest':
        return {
          kind,
          data: encoded(
            addressWord(borrower.evm),
            bytes(borrower.fil),
            bytes32Word(this.hashA1),
            bytes32Word(this.channel),
            word(this.fil),
          ),
          args: {
            borrower: borrower.evm,
            filBorrower: borrower.fil,
            secretHashA1: this.hashA1,
            paymentChannelId: this.channel,
            collateralAmount: this.fil.toString(),
          },
          terms: {
            loanExpiration: String(this.loanExpiration),
            acceptExpiration: String(this.acceptExpiration),
          },
          tokenDecimals: null,
        }
      case 'CreateBorrowRequest':
        return {
          kind,
          ...tokenLog({ name: 'borrower' }, 'collateralAmount'),
          terms: {
            secretHashA1: this.hashA1,
            filBorrower: borrower.fil,
            principalAmount: this.fil.toString(),
            interestRate: this.interest.toString(),
            ...period,
          },
        }
      case 'AcceptOffer':
        return {
          kind,
          data: encoded(
            addressWord(lender.evm),
            bytes(lender.fil),
            bytes32Word(this.hashB1),
            bytes32Word(this.channel),
            word(this.fil),
          ),
          args: {
            lender: lender.evm,
            filLender: lender.fil,
            secretHashB1: this.hashB1,
            paymentChannelId: this.channel,
            principalAmount: this.fil.toString(),
          },
          terms: { loanExpiration: String(this.loanExpiration), lockPrice: this.price.toString() },
          tokenDecimals: null,
        }
      case 'UnlockCollateral':
        return {
          kind,
          ...tokenLog({ name: 'borrower' }, 'collateralAmount'),
          terms: { secretB1: this.secretB1 },
        }
      case 'SeizeCollateral':
        return {
          kind,
          ...tokenLog({ name: 'lender' }, 'amount'),
          terms: { liquidationPrice: (this.price * 2n).toString(), secretA1: this.secretA1 },
        }
      case 'Withdraw':
        return { kind, ...tokenLog({ name: 'borrower' }, 'amount', a1), terms: {} }
      case 'AcceptRepayment':
      case 'CancelLoan':
        return { kind, ...tokenLog(null, 'amount', b1), terms: {} }
      case 'CancelBorrowRequest':
        return { kind, ...tokenLog({ name: 'borrower' }, 'collateralAmount', a1), terms: {} }
      case 'Payback':
      case 'RefundPayback':
      case 'UnlockRefundableCollateral':
        return { kind, ...tokenLog({ name: 'borrower' }, 'amount'), terms: {} }
    }
  }

  /** The contract's present answer; amounts are zero where the contract zeroes them. */
  #fetchLoan(nowS: number): string {
    const isLoan = this.role === 'erc20Loans'
    const isAgreed = this.agreedS > 0
    const has = (...kinds: EvmEventKind[]): boolean => kinds.some((kind) => this.told.has(kind))
    const isZeroed = isLoan
      ? has('CancelLoan', 'RefundPayback')
      : has('UnlockCollateral', 'SeizeCollateral', 'CancelBorrowRequest')
    const amount = word(isZeroed ? 0n : this.amount)
    const shownA1 = has('Withdraw', 'SeizeCollateral') ? this.secretA1 : '0x'
    const shownB1 = has('AcceptRepayment', 'CancelLoan', 'UnlockCollateral') ? this.secretB1 : '0x'
    const knowsBorrower = !isLoan || isAgreed
    const knowsLender = isLoan || isAgreed
    const agreed = (value: string): string => (isAgreed ? value : ZERO_WORD)
    const details = isLoan
      ? [amount, word(isZeroed ? 0n : this.interest), word(isAgreed ? this.fil : 0n)]
      : [
          amount,
          word(this.fil),
          agreed(word(this.price)),
          word(has('SeizeCollateral') ? this.price * 2n : 0n),
          word(this.interest),
        ]
    const second = isLoan
      ? agreed(word(this.acceptExpiration))
      : word(this.answers.length === 0 ? nowS : this.#createdS)
    if (this.answers.length === 0) this.#createdS = nowS
    return encodeAbi([
      (knowsBorrower ? addressWord(this.borrower.evm) : ZERO_WORD) +
        (knowsLender ? addressWord(this.lender.evm) : ZERO_WORD),
      fixedList(bytes(knowsBorrower ? this.borrower.fil : '0x'), bytes(knowsLender ? this.lender.fil : '0x')),
      (knowsBorrower ? bytes32Word(this.hashA1) : ZERO_WORD) +
        (knowsLender ? bytes32Word(this.hashB1) : ZERO_WORD),
      fixedList(bytes(shownA1), bytes(shownB1)),
      agreed(word(this.loanExpiration)) + second + word(this.periodS),
      details.join(''),
      agreed(bytes32Word(this.channel)),
      addressWord(this.token.address),
      word(this.state),
    ])
  }

  #createdS = 0
}
