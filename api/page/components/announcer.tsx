import { signal } from '@preact/signals'

const message = signal('')
let timer: ReturnType<typeof setTimeout> | undefined

/** Says something briefly, to readers of the screen and to screen readers. */
export function announce(text: string): void {
  message.value = text
  clearTimeout(timer)
  timer = setTimeout(() => (message.value = ''), 2500)
}

export function Announcer() {
  return (
    <div class="announcer" role="status">
      {message.value}
    </div>
  )
}
