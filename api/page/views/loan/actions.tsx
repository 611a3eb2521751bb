import type { LoanNextAnswer } from '../../../../client/index.ts'
import { Badge } from '../../components/badge.tsx'
import { Address } from '../../components/names.tsx'
import { Answered } from '../../components/states.tsx'
import { now } from '../../lib/clock.ts'
import { exactTime } from '../../lib/format.ts'
import type { Asked } from '../../lib/use-answer.ts'
import type { LoanModel } from './loan-model.ts'
import { shownActions, whenText, type ShownAction } from './next-actions.ts'
import { isEnded } from './protocol-steps.ts'
import { useSeenAt } from './seen-at.ts'

/** The answer to "what can I do, until when?" */
export function Actions({
  next,
  loan,
  isPast,
}: {
  next: Asked<LoanNextAnswer>
  loan: LoanModel
  isPast: boolean
}) {
  return (
    <section aria-labelledby="can-do">
      <h2 id="can-do">What can be done{isPast && ' now'}, until when</h2>
      <Answered asked={next} what="what can be done">
        {({ payload }) => <Listed next={payload} loan={loan} />}
      </Answered>
    </section>
  )
}

function Listed({ next, loan }: { next: LoanNextAnswer['payload']; loan: LoanModel }) {
  const seenAt = useSeenAt(next)
  const actions = shownActions(next.actions, next.step, seenAt, now.value, loan.channels)
  const planned = actions.filter(({ isPlanned }) => isPlanned)
  const others = actions.filter(({ isPlanned }) => !isPlanned)
  return (
    <>
      {next.problems.length > 0 && <Warnings problems={next.problems} />}
      {actions.length === 0 && (
        <p class="panel">
          {isEnded(next.step)
            ? 'Nothing is left to do: the loan has ended, and its channels are paid out.'
            : 'Neither party can do anything that the service knows of.'}
        </p>
      )}
      {planned.length > 0 && (
        <ul class="actions">
          {planned.map((action) => (
            <ActionCard key={action.key} action={action} loan={loan} />
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <>
          <h3 class="beside">{planned.length === 0 ? 'Possible' : 'Also possible'}</h3>
          <ul class="actions compact">
            {others.map((action) => (
              <ActionCard key={action.key} action={action} loan={loan} />
            ))}
          </ul>
        </>
      )}
    </>
  )
}

function ActionCard({ action, loan }: { action: ShownAction; loan: LoanModel }) {
  const { isOpen, isOver, limit, height, actor, chain } = action
  const isUrgent = isOpen && limit !== null && limit - action.now < 3_600_000
  const networkId = chain.startsWith('evm:') ? (loan.networkId ?? undefined) : chain.split(':')[1]
  return (
    <li class={`action ${isOpen ? 'open' : 'later'}${isUrgent ? ' urgent' : ''}`}>
      <p class="action-title">
        <span class="actor">{actor === 'borrower' ? 'Borrower' : 'Lender'}</span> {action.title}
      </p>
      <p class="when">{whenText(action)}</p>
      {limit !== null && (
        <p class="exact">
          {isOpen || isOver ? 'until' : 'from'}{' '}
          <time dateTime={new Date(limit).toISOString()}>{exactTime(limit)}</time>
          {height !== null && `, ${height}`}
        </p>
      )}
      <p class="action-note">{action.note}</p>
      <p class="row small">
        <Badge tone={chain.startsWith('evm:') ? 'evm' : 'fil'}>{chain}</Badge>
        <Address of={action.address} networkId={networkId} />
      </p>
    </li>
  )
}

function Warnings({ problems }: { problems: LoanNextAnswer['payload']['problems'] }) {
  return (
    <ul class="warnings" aria-label="Warnings">
      {problems.map(({ code, message, channel, voucher }) => (
        <li key={`${code} ${channel} ${voucher}`}>
          <strong>Warning.</strong> {message}
          {channel !== null && (
            <span class="small">
              {' '}
              Channel <Address of={channel} />
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}
