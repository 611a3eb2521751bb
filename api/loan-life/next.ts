import { actionsOf, type LoanAction } from '../../shared/loan-life/actions.ts'
import { shownChannel, type LoanLife } from '../../shared/loan-life/life.ts'
import { loanProblems, type Problem } from './loan-problems.ts'
import { erc20Step, filStep, type Step } from './steps.ts'

/** (pure) The answer to "what can the parties of this loan do now, and until when?" */
export interface NextOfLoan {
  step: Step
  actions: LoanAction[]
  problems: Problem[]
}

export function nextOf(life: LoanLife): NextOfLoan {
  return { step: stepOf(life), actions: actionsOf(life), problems: loanProblems(life) }
}

/** The step follows from the states alone, so that it changes only with them. */
function stepOf(life: LoanLife): Step {
  const stateOf = (role: 'collateral' | 'principal' | 'payback'): string =>
    shownChannel(life, role)?.state ?? '-'
  return life.loanType === 'ERC20FIL'
    ? erc20Step(life.state, stateOf('collateral'))
    : filStep(life.state, stateOf('principal'), stateOf('payback'))
}
