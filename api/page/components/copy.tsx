import { announce } from './announcer.tsx'
import { CopyIcon } from './icons.tsx'

/** A button that copies the whole text. `what` names it, as in "address". */
export function Copy({ text, what }: { text: string; what: string }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      announce(`Copied the ${what}`)
    } catch {
      announce(`The browser did not copy the ${what}`)
    }
  }
  return (
    <button
      type="button"
      class="quiet"
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={() => void copy()}
    >
      <CopyIcon />
    </button>
  )
}
