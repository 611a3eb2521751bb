import { signal } from '@preact/signals'

/** The reader's clock in milliseconds, moved every second while the page is visible. */
export const now = signal(Date.now())

const tick = (): void => {
  if (!document.hidden) now.value = Date.now()
}
setInterval(tick, 1000)
document.addEventListener('visibilitychange', tick)
