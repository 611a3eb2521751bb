import type { ComponentChildren, JSX } from 'preact'
import type { Failure, FailureKind } from '../lib/api.ts'
import type { Asked } from '../lib/use-answer.ts'

/** `what` is lower case, as in "the loan". */
export function Loading({ what }: { what: string }) {
  return (
    <div class="state" role="status">
      <span class="shimmer" />
      <p>Loading {what}…</p>
    </div>
  )
}

/** Nothing is there, and that is no failure. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children}
    </div>
  )
}

const TITLES: Record<FailureKind, string> = {
  away: 'The API is away',
  busy: 'The API is busy',
  missing: 'There is no such thing',
  refused: 'The API cannot answer this',
  broken: 'Something failed',
}

interface FailedProps {
  failure: Failure
  retry: () => void
  /** Names the thing that the page keeps asking for, as in "the loan"; omitted where it asks once. */
  what?: string
  /** The words of the button. */
  action?: string
}

export function Failed({ failure, retry, what, action = 'Ask now' }: FailedProps) {
  const isAway = failure.kind === 'away' || failure.kind === 'busy' || failure.kind === 'broken'
  return (
    <div class="state bad" role="alert">
      <p class="state-title">{TITLES[failure.kind]}</p>
      <p>
        <bdi>{failure.message}</bdi>
      </p>
      {isAway && (
        <>
          {what !== undefined && <p>The page keeps asking for {what}.</p>}
          <button type="button" onClick={retry}>
            {action}
          </button>
        </>
      )}
    </div>
  )
}

/** Shows an answer, or why there is none yet. An old answer stays while newer questions fail, and is said to be old. */
export function Answered<T>({
  asked,
  what,
  children,
}: {
  asked: Asked<T>
  what: string
  children: (data: T) => JSX.Element
}) {
  const { data, failure, retry } = asked
  if (data === undefined) {
    return failure === undefined ? (
      <Loading what={what} />
    ) : (
      <Failed failure={failure} retry={retry} what={what} />
    )
  }
  return (
    <>
      {failure !== undefined && (
        <p class="wrong" role="status">
          This may be old: <bdi>{failure.message}</bdi>
        </p>
      )}
      {children(data)}
    </>
  )
}
