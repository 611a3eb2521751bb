import { useEffect, useState } from 'preact/hooks'
import { Heading } from '../../components/heading.tsx'
import { Address, LoanLink } from '../../components/names.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { Failure } from '../../lib/api.ts'
import { marketWords } from '../../lib/events.ts'
import { clip } from '../../lib/format.ts'
import { guess, guessWords } from '../../lib/search-form.ts'
import type { ViewProps } from '../../view.ts'
import { Records } from '../activity/records.tsx'
import { find, type Found } from './find.ts'

interface Outcome {
  q: string
  found?: Found[]
  failure?: Failure
}

export default function SearchView({ route: { query } }: ViewProps) {
  const q = query.get('q')?.trim() ?? ''
  const [outcome, setOutcome] = useState<Outcome>({ q: '' })
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const stopped = new AbortController()
    Promise.all(guess(q).map((one) => find(one, stopped.signal))).then(
      (lists) => setOutcome({ q, found: lists.flat() }),
      (error: unknown) => {
        if (stopped.signal.aborted) return
        const failure = error instanceof Failure ? error : new Failure('broken', 'The page failed.')
        setOutcome({ q, failure })
      },
    )
    return () => stopped.abort()
  }, [q, tries])
  return (
    <div class="stack">
      <Heading title="Search" />
      {q === '' ? (
        <Forms title="Type what you have" />
      ) : (
        <Result q={q} outcome={outcome} retry={() => setTries((count) => count + 1)} />
      )}
    </div>
  )
}

function Result({ q, outcome, retry }: { q: string; outcome: Outcome; retry: () => void }) {
  const guesses = guess(q)
  if (guesses.length === 0)
    return <Forms title={`“${clip(q, 40)}” has the form of nothing that can be searched`} />
  if (outcome.q !== q) return <Loading what="what was found" />
  if (outcome.failure !== undefined)
    return <Failed failure={outcome.failure} retry={retry} action="Search again" />
  const found = outcome.found ?? []
  if (found.length > 0) return <Hits found={found} />
  return (
    <Empty title={`Nothing is known of “${clip(q, 40)}”`}>
      <p>The page asked for:</p>
      <ul class="plain">
        {guesses.map((one) => (
          <li key={one.kind}>{guessWords(one)}</li>
        ))}
      </ul>
      <p>
        What is newer than the index appears once it has caught up; see <a href="#/status">the status</a>.
      </p>
    </Empty>
  )
}

function Hits({ found }: { found: Found[] }) {
  return (
    <div class="stack">
      {found.map((one, index) => (
        <section class="panel stack-s" key={index}>
          {one.kind === 'loan' && (
            <>
              <h2>
                <LoanLink {...one} />
              </h2>
              <p class="faint">
                {marketWords(one.loanType)}
                {one.as !== undefined && `; this payment channel is its ${one.as}`}
              </p>
            </>
          )}
          {one.kind === 'account' && (
            <>
              <h2>Account</h2>
              <p>
                <Address of={one.account} /> borrows or lends in {one.loans}
                {one.hasMore ? ' or more' : ''} {one.loans === 1 ? 'loan' : 'loans'}.
              </p>
            </>
          )}
          {one.kind === 'records' && (
            <>
              <h2>{one.records.length === 1 ? 'One record' : `${one.records.length} records`}</h2>
              <Records records={one.records} />
            </>
          )}
        </section>
      ))}
    </div>
  )
}

function Forms({ title }: { title: string }) {
  return (
    <Empty title={title}>
      <p>The box above takes:</p>
      <ul class="plain">
        <li>a loan’s number, as in 7 or V2-7</li>
        <li>an account: 0x… of an EVM chain, or f0…, f1…, f3…, t1… of Filecoin</li>
        <li>a transaction’s hash (0x and 64 digits) or a message’s CID (bafy…)</li>
        <li>a payment channel: f2… or f0…</li>
        <li>a signed voucher in base64</li>
        <li>a record’s id</li>
      </ul>
    </Empty>
  )
}
