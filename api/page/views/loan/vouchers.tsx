import type { LoanNextAnswer, LoanVoucher, LoanVouchersAnswer } from '../../../../client/index.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { Amount } from '../../components/amount.tsx'
import { Copy } from '../../components/copy.tsx'
import { Address } from '../../components/names.tsx'
import { Answered, Empty } from '../../components/states.tsx'
import { now } from '../../lib/clock.ts'
import { exactTime } from '../../lib/format.ts'
import type { Asked } from '../../lib/use-answer.ts'
import { chainNow } from './countdown.ts'
import type { LoanModel } from './loan-model.ts'
import { momentOf } from './next-actions.ts'
import { useSeenAt } from './seen-at.ts'
import { voucherMeaning, voucherState, voucherTitle, type VoucherState } from './voucher-state.ts'

const TONES: Record<VoucherState['tone'], Tone> = {
  done: 'good',
  open: 'warn',
  waiting: 'plain',
  void: 'plain',
}

interface VouchersProps {
  asked: Asked<LoanVouchersAnswer>
  loan: LoanModel
  isPast: boolean
  /** Its actions tell the clocks of the chains. */
  next: LoanNextAnswer | undefined
}

export function Vouchers({ asked, loan, isPast, next }: VouchersProps) {
  const seenAt = useSeenAt(next)
  const presentOn = (network: string): number => {
    const basis = next?.payload.actions.find(({ chain }) => chain === network)?.basis ?? null
    return chainNow(momentOf(basis), seenAt, now.value)
  }
  return (
    <section aria-labelledby="vouchers">
      <h2 id="vouchers">Vouchers{isPast && ', as known now'}</h2>
      <Answered asked={asked} what="the vouchers">
        {({ payload, total }) =>
          payload.length === 0 ? (
            <Empty title="No voucher is known">
              <p>A voucher is signed off-chain. It shows here once it is handed in or redeemed.</p>
            </Empty>
          ) : (
            <>
              <ul class="vouchers">
                {payload.map((voucher) => (
                  <VoucherCard
                    key={voucher.id + voucher.channel.robust}
                    voucher={voucher}
                    loan={loan}
                    present={presentOn(voucher.channel.network)}
                  />
                ))}
              </ul>
              {total > payload.length && (
                <p class="small faint">
                  {payload.length} of {total} known vouchers are shown.
                </p>
              )}
            </>
          )
        }
      </Answered>
    </section>
  )
}

interface VoucherProps {
  voucher: LoanVoucher
  loan: LoanModel
  /** Unix milliseconds of the chain's clock. */
  present: number
}

function VoucherCard({ voucher, loan, present }: VoucherProps) {
  const { tone, text } = voucherState(voucher, present)
  return (
    <li class="voucher panel">
      <div class="row">
        <h3>{voucherTitle(voucher)}</h3>
        <Badge tone={TONES[tone]}>{text}</Badge>
      </div>
      <p class="small faint">It {voucherMeaning(voucher)}.</p>
      {voucher.problems.length > 0 && (
        <ul class="warnings">
          {voucher.problems.map(({ code, message }) => (
            <li key={code}>
              <strong>Warning.</strong> {message}
            </li>
          ))}
        </ul>
      )}
      <dl class="lines">
        <div class="line">
          <dt>Amount</dt>
          <dd class="number">
            <Amount of={voucher.amount} unit="FIL" />
          </dd>
        </div>
        <div class="line">
          <dt>Signed by</dt>
          <dd>
            {voucher.signedBy ?? 'neither party'}{' '}
            <Address of={voucher.signer} networkId={voucher.channel.network.split(':')[1]} />
          </dd>
        </div>
        <div class="line">
          <dt>Secret</dt>
          <dd>{secretOf(voucher, loan)}</dd>
        </div>
        <div class="line">
          <dt>Lane, nonce</dt>
          <dd>
            {voucher.lane}, {voucher.nonce}
          </dd>
        </div>
        <Limits voucher={voucher} />
        {voucher.text !== null && (
          <div class="line">
            <dt>Voucher</dt>
            <dd>
              <code title={voucher.text.slice(0, 400)}>{voucher.text.slice(0, 12)}…</code>
              <Copy text={voucher.text} what="voucher" />
            </dd>
          </div>
        )}
      </dl>
    </li>
  )
}

function secretOf({ secretHash }: LoanVoucher, loan: LoanModel): string {
  if (secretHash === null) return 'asks for none'
  const own = loan.secrets.find(({ hash }) => hash === secretHash)
  return own === undefined ? 'asks for another than the loan’s' : `asks for ${own.name} of the ${own.owner}`
}

function Limits({ voucher: { timeLockMin, timeLockMax, minSettleHeight } }: { voucher: LoanVoucher }) {
  const limits = [
    { label: 'Not before', limit: timeLockMin },
    { label: 'Not after', limit: timeLockMax },
    { label: 'Settles not before', limit: minSettleHeight },
  ]
  return (
    <>
      {limits
        .filter(({ limit }) => limit.epoch !== '0')
        .map(({ label, limit: { epoch, time } }) => (
          <div class="line" key={label}>
            <dt>{label}</dt>
            <dd>
              epoch {epoch}
              {time !== null && <span class="exact">{exactTime(momentOf({ time }) ?? 0)}</span>}
            </dd>
          </div>
        ))}
    </>
  )
}
