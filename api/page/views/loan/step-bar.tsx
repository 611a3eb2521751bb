import type { LoanModel } from './loan-model.ts'
import { stepMarks, type StepMark } from './protocol-steps.ts'

const STATES: Record<StepMark['state'], string> = {
  done: 'done',
  current: 'now',
  coming: 'to come',
  skipped: 'not seen',
}

/** The way of the loan through the protocol. Colour repeats what the words say. */
export function StepBar({ loan }: { loan: LoanModel }) {
  return (
    <ol class="steps" aria-label="Steps of the loan">
      {stepMarks(loan).map(({ step, title, by, state }) => (
        <li key={`${step} ${title}`} class={state} aria-current={state === 'current' ? 'step' : undefined}>
          <span class="step-title">{title}</span>
          <span class="step-state">
            {by !== null && `${by}, `}
            {STATES[state]}
          </span>
        </li>
      ))}
    </ol>
  )
}
