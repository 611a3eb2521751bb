import type { ComponentChildren } from 'preact'
import type { LoanNextAnswer } from '../../../../client/index.ts'
import { Amount } from '../../components/amount.tsx'
import { Badge } from '../../components/badge.tsx'
import { Address, Short, Unknown } from '../../components/names.tsx'
import { useSymbols } from '../../lib/assets.ts'
import { now } from '../../lib/clock.ts'
import { exactTime, formatDuration, shorten } from '../../lib/format.ts'
import { go, withQuery } from '../../router.ts'
import { chainNow, countdown } from './countdown.ts'
import { eventWords } from './event-words.ts'
import type { Amount as LoanAmount, Deadline, LinkedChannel, LoanModel, Party, Secret } from './loan-model.ts'
import { momentOf } from './next-actions.ts'
import { useSeenAt } from './seen-at.ts'
import { stateWords } from './state-words.ts'

interface StatementProps {
  loan: LoanModel
  isPast: boolean
  next: LoanNextAnswer | undefined
}

/** The loan's terms, in the manner of a bank statement. */
export function Statement({ loan, isPast, next }: StatementProps) {
  const symbol = useSymbols()(loan.token)
  return (
    <div class="statement">
      <Card title="Amounts" id="amounts">
        {loan.amounts.map((amount) => (
          <Line key={amount.label} label={amount.label} origin={<Origin loan={loan} {...amount} />} isNumber>
            <AmountOf amount={amount} symbol={symbol} />
          </Line>
        ))}
        <Line label="Token">
          <Address of={loan.token} networkId={loan.networkId ?? undefined} />
        </Line>
      </Card>
      <Card title="Deadlines" id="deadlines">
        <Deadlines loan={loan} isPast={isPast} next={next} />
      </Card>
      <Card title="Parties" id="parties">
        <PartyLines name="Borrower" party={loan.borrower} loan={loan} />
        <PartyLines name="Lender" party={loan.lender} loan={loan} />
      </Card>
      <Card title="Secrets" id="secrets">
        {loan.secrets.map((secret) => (
          <SecretLine key={secret.name} secret={secret} loan={loan} />
        ))}
      </Card>
      <Card title="Contract and channels" id="channels" isWide>
        <Line
          label={loan.contract.name === 'erc20Loan' ? 'Loan contract' : 'Collateral contract'}
          origin={<Origin loan={loan} part={loan.contract.name} field="state" />}
        >
          <Badge tone="evm">{stateWords(loan.contract.name, loan.contract.state)}</Badge>{' '}
          <Address of={loan.contract.address} networkId={loan.networkId ?? undefined} />
        </Line>
        {loan.channels.map((channel) => (
          <ChannelLine key={channel.part} channel={channel} loan={loan} />
        ))}
        {loan.channels.length === 0 && (
          <Line label="Channels">No payment channel is linked to this loan yet.</Line>
        )}
      </Card>
    </div>
  )
}

function Card({
  title,
  id,
  isWide = false,
  children,
}: {
  title: string
  id: string
  isWide?: boolean
  children: ComponentChildren
}) {
  return (
    <section class={isWide ? 'panel wide' : 'panel'} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <dl class="lines">{children}</dl>
    </section>
  )
}

function Line({
  label,
  origin,
  note,
  isNumber = false,
  children,
}: {
  label: string
  note?: string
  origin?: ComponentChildren
  isNumber?: boolean
  children: ComponentChildren
}) {
  return (
    <div class="line">
      <dt>
        {label} {origin}
      </dt>
      <dd class={isNumber ? 'number' : undefined}>{children}</dd>
      {note !== undefined && <dd class="note">{note}</dd>}
    </div>
  )
}

/** Leads to the moment at which a field got its value. */
function Origin({ loan, part, field }: { loan: LoanModel; part: string; field: string }) {
  const id = loan.explain[part]?.[field]?.at(-1)
  const record = loan.events.find((event) => event.id === id)
  if (id === undefined || record === undefined) return null
  const { title } = eventWords(record.event)
  const show = (): void => go(withQuery({ asOf: String(id) }), { replace: true })
  return (
    <button
      type="button"
      class="origin"
      title={`Set by “${title}”, record ${id}. Show that moment.`}
      onClick={show}
    >
      from “{title}”
    </button>
  )
}

function AmountOf({ amount: { value, unit }, symbol }: { amount: LoanAmount; symbol: string | null }) {
  if (unit === 'rate' && value !== null) return <data value={value}>{percent(value)}</data>
  return <Amount of={value} unit={unit === 'FIL' ? 'FIL' : unit === 'token' ? (symbol ?? 'tokens') : null} />
}

/** 0.1177 is 11.77 %. */
function percent(share: string): string {
  const value = Number(share) * 100
  return Number.isFinite(value) ? `${Math.round(value * 1e6) / 1e6} %` : share
}

function Deadlines({ loan, isPast, next }: StatementProps) {
  const seenAt = useSeenAt(next)
  if (loan.deadlines.length === 0) {
    return (
      <Line label="Term">
        {loan.periodS === null ? <Unknown /> : `${formatDuration(loan.periodS)}, once both parties agree`}
      </Line>
    )
  }
  return (
    <>
      {loan.deadlines.map((deadline) => {
        const isEvm = deadline.part === loan.contract.name
        const basis =
          next?.payload.actions.find(({ chain }) => chain.startsWith('evm:') === isEvm)?.basis ?? null
        const chainTime = chainNow(momentOf(basis), seenAt, now.value)
        return (
          <DeadlineLine
            key={deadline.field + deadline.part}
            deadline={deadline}
            now={isPast ? null : chainTime}
            loan={loan}
          />
        )
      })}
    </>
  )
}

function DeadlineLine({ deadline, now, loan }: { deadline: Deadline; now: number | null; loan: LoanModel }) {
  const { at, label, note } = deadline
  return (
    <Line label={label} note={note} origin={<Origin loan={loan} {...deadline} />}>
      <time dateTime={new Date(at).toISOString()}>
        {now !== null && <strong class={at > now ? 'ahead' : 'over'}>{countdown(at, now)}</strong>}
        <span class="exact">{exactTime(at)}</span>
      </time>
    </Line>
  )
}

function PartyLines({ name, party, loan }: { name: string; party: Party; loan: LoanModel }) {
  const filecoinNetwork = loan.channels[0]?.network ?? undefined
  return (
    <Line label={name}>
      <span class="pair">
        <Badge tone="evm">EVM</Badge> <Address of={party.evm} networkId={loan.networkId ?? undefined} />
      </span>
      <span class="pair">
        <Badge tone="fil">Filecoin</Badge> <Address of={party.filecoin} networkId={filecoinNetwork} />
      </span>
    </Line>
  )
}

function SecretLine({ secret, loan }: { secret: Secret; loan: LoanModel }) {
  const { name, owner, hash, text, part } = secret
  return (
    <Line
      label={`${name}, of the ${owner}`}
      origin={<Origin loan={loan} part={part} field={`secret${name}`} />}
    >
      {text === null ? (
        <Badge>not revealed</Badge>
      ) : (
        <span class="pair">
          <Badge tone="warn">revealed</Badge> <Short text={text} what={`secret ${name}`} />
        </span>
      )}
      <span class="pair small faint">
        hash {hash === null ? <Unknown /> : <Short text={hash} what={`hash of secret ${name}`} />}
      </span>
    </Line>
  )
}

function ChannelLine({ channel, loan }: { channel: LinkedChannel; loan: LoanModel }) {
  const { role, part, id, address, network, amount, state, funder, settlingAtEpoch } = channel
  const title = `${role.charAt(0).toUpperCase()}${role.slice(1)} channel`
  return (
    <Line label={title} origin={<Origin loan={loan} part={part} field="state" />}>
      <Badge tone="fil">{stateWords(part, state)}</Badge>{' '}
      <Address of={address} networkId={network ?? undefined} />
      <span class="pair small">
        <Amount of={amount} unit="FIL" /> of the {funder}
        {id !== null && <span class="faint">, {shorten(id)}</span>}
        {settlingAtEpoch !== null && <span class="faint">, settles in epoch {settlingAtEpoch}</span>}
      </span>
    </Line>
  )
}
