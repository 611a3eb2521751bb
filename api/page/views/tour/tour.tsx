import { searchActivity } from '../../../../client/index.ts'
import { Heading } from '../../components/heading.tsx'
import { loanHash, marketOf } from '../../lib/route.ts'
import { status } from '../../lib/status.ts'
import { useAnswer } from '../../lib/use-answer.ts'
import { isDevnet, TELLING_EVENTS, tellingRecord } from './devnet.ts'
import './tour.css'

/** Says what a loan, a channel and a voucher are, and points at a loan worth a look. */
export default function TourView() {
  const asked = useAnswer('telling records', (options) =>
    searchActivity({ ...options, query: { event: [...TELLING_EVENTS], limit: '100' } }),
  )
  const record = tellingRecord(asked.data?.payload ?? [])
  return (
    <div class="stack">
      <Heading title="Tour" />
      <p class="lead">
        {isDevnet(status.value?.networks ?? [])
          ? 'You look at a devnet: two chains on this machine, on which loans are played. Nothing here has value.'
          : 'You look at loans between two chains that cannot see each other.'}
      </p>
      <ol class="tour">
        <li class="panel">
          <h2>A loan lives on two chains</h2>
          <p>
            One party lends tokens on an EVM chain, and the other secures them with FIL on Filecoin; or the
            other way round. A <strong>contract</strong> on the EVM chain keeps the terms and the times.
          </p>
        </li>
        <li class="panel">
          <h2>A channel holds the FIL</h2>
          <p>
            A <strong>payment channel</strong> is a deposit of one party for another. Nothing in it names a
            loan: the service finds its loan by what the contract says, by secrets, or by its parties, and
            says why.
          </p>
        </li>
        <li class="panel">
          <h2>A voucher is a signed promise</h2>
          <p>
            Its signer lets the other party take an amount from the channel, but only with a{' '}
            <strong>secret</strong>. Whoever uses a secret on one chain shows it to the other party, who can
            then act on the other chain. So neither can take both sides.
          </p>
        </li>
      </ol>
      <p class="row">
        {record !== undefined && (
          <a class="button" href={loanHash(marketOf(record.loanType), record.loanId)}>
            A loan worth a look
          </a>
        )}
        <a href="#/">Newest activity</a>
        <a href="#/status">Is the service up to date?</a>
      </p>
      <p class="small faint">
        On a loan, look at three places: what can be done until when, the timeline with the numbers that link
        the two chains, and the slider below it, which goes back to any earlier moment.
      </p>
    </div>
  )
}
