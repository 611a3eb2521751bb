import { useSignal } from '@preact/signals'
import { isDevnet } from './devnet.ts'
import { status } from '../../lib/status.ts'

const DISMISSED = 'tour-dismissed'

/** Invites to the tour while the service runs on a devnet, until the reader dismisses it. */
export function FirstLook() {
  const isDismissed = useSignal(remembered())
  if (isDismissed.value || !isDevnet(status.value?.networks ?? [])) return null
  const dismiss = (): void => {
    isDismissed.value = true
    remember()
  }
  return (
    <aside class="first-look panel row" aria-label="First look">
      <p>
        <strong>First look?</strong> This is a devnet, on which loans are played. A short tour says what you
        see.
      </p>
      <p class="row">
        <a class="button" href="#/tour">
          Take the tour
        </a>
        <button type="button" onClick={dismiss}>
          Dismiss
        </button>
      </p>
    </aside>
  )
}

/** A browser can refuse its storage; then the invitation comes again. */
function remembered(): boolean {
  try {
    return localStorage.getItem(DISMISSED) !== null
  } catch {
    return false
  }
}

function remember(): void {
  try {
    localStorage.setItem(DISMISSED, '1')
  } catch {
    // Dismissed until the page is loaded again.
  }
}
