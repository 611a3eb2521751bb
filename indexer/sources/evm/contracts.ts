import { Interface, type ParamType } from 'ethers'
import { KINDS_OF_ROLE, type ContractRole, type EvmEventKind } from '../../../shared/events/chain-event.ts'

/** The parts of both contracts' ABI that are read. No event parameter is indexed. */
const ABI: Record<ContractRole, string[]> = {
  erc20Loans: [
    'event CreateLoanOffer(uint256 loanId, address lender, uint256 principal, address token)',
    'event ApproveRequest(uint256 loanId, address borrower, bytes filBorrower, bytes32 secretHashA1, bytes32 paymentChannelId, uint256 collateralAmount)',
    'event Withdraw(uint256 loanId, address borrower, uint256 amount, address token, bytes secretA1)',
    'event Payback(uint256 loanId, address borrower, uint256 amount, address token)',
    'event AcceptRepayment(uint256 loanId, uint256 amount, address token, bytes secretB1)',
    'event RefundPayback(uint256 loanId, address borrower, uint256 amount, address token)',
    'event CancelLoan(uint256 loanId, uint256 amount, address token, bytes secretB1)',
    'function createLoanOffer(bytes32 secretHashB1, bytes filLender, uint256 principal, uint256 interest, address token, uint256 loanExpirationPeriod)',
    'function fetchLoan(uint256 loanId) view returns (address[2] actors, bytes[2] filAddresses, bytes32[2] secretHashes, bytes[2] secrets, uint256[3] expirations, uint256[3] details, bytes32 paymentChannelId, address token, uint8 state)',
  ],
  erc20CollateralLock: [
    'event CreateBorrowRequest(uint256 loanId, address borrower, uint256 collateralAmount, address token)',
    'event AcceptOffer(uint256 loanId, address lender, bytes filLender, bytes32 secretHashB1, bytes32 paymentChannelId, uint256 principalAmount)',
    'event UnlockCollateral(uint256 loanId, address borrower, uint256 collateralAmount, address token)',
    'event SeizeCollateral(uint256 loanId, address lender, uint256 amount, address token)',
    'event UnlockRefundableCollateral(uint256 loanId, address borrower, uint256 amount, address token)',
    'event CancelBorrowRequest(uint256 loanId, address borrower, uint256 collateralAmount, address token, bytes secretA1)',
    'function createBorrowRequest(bytes32 secretHashA1, bytes filBorrower, uint256 collateralAmount, address token, uint256 principalAmount, uint256 interestRate, uint256 loanExpirationPeriod)',
    'function unlockCollateral(uint256 loanId, bytes secretB1)',
    'function seizeCollateral(uint256 loanId, bytes secretA1)',
    'function fetchLoan(uint256 loanId) view returns (address[2] actors, bytes[2] filAddresses, bytes32[2] secretHashes, bytes[2] secrets, uint256[3] expirations, uint256[5] details, bytes32 paymentChannelId, address token, uint8 state)',
  ],
}

export const INTERFACES: Record<ContractRole, Interface> = {
  erc20Loans: new Interface(ABI.erc20Loans),
  erc20CollateralLock: new Interface(ABI.erc20CollateralLock),
}

/** Parameters of one event or function, in ABI order. */
export interface Layout {
  names: string[]
  types: string[]
}

export interface EventLayout extends Layout {
  kind: EvmEventKind
  /** The event's first topic. */
  topic: string
}

export const EVENT_LAYOUTS: Record<ContractRole, ReadonlyMap<string, EventLayout>> = {
  erc20Loans: eventLayoutsOf('erc20Loans'),
  erc20CollateralLock: eventLayoutsOf('erc20CollateralLock'),
}

function eventLayoutsOf(role: ContractRole): ReadonlyMap<string, EventLayout> {
  return new Map(
    KINDS_OF_ROLE[role].map((kind: EvmEventKind) => {
      const fragment = INTERFACES[role].getEvent(kind)
      if (fragment === null) throw new Error(`the ABI of ${role} has no event ${kind}`)
      const topic = fragment.topicHash
      return [topic, { kind, topic, ...layoutOf(fragment.inputs) }]
    }),
  )
}

export interface FunctionLayout extends Layout {
  selector: string
  outputs: string[]
}

const FUNCTION_LAYOUTS: Record<ContractRole, ReadonlyMap<string, FunctionLayout>> = {
  erc20Loans: functionLayoutsOf('erc20Loans'),
  erc20CollateralLock: functionLayoutsOf('erc20CollateralLock'),
}

function functionLayoutsOf(role: ContractRole): ReadonlyMap<string, FunctionLayout> {
  const layouts = new Map<string, FunctionLayout>()
  INTERFACES[role].forEachFunction(({ name, selector, inputs, outputs }) => {
    layouts.set(name, { selector, ...layoutOf(inputs), outputs: layoutOf(outputs).types })
  })
  return layouts
}

function layoutOf(parameters: readonly ParamType[]): Layout {
  return { names: parameters.map(({ name }) => name), types: parameters.map(({ type }) => type) }
}

export function functionLayout(role: ContractRole, name: string): FunctionLayout {
  const layout = FUNCTION_LAYOUTS[role].get(name)
  if (layout === undefined) throw new Error(`the ABI of ${role} has no function ${name}`)
  return layout
}
