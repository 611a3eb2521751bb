/** Drawn here, so that no font or image is loaded. */
export function CopyIcon() {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />
    </svg>
  )
}

export function OutIcon() {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M9 2.5h4.5V7M13.5 2.5 8 8M11.5 9.5v4h-9v-9h4" />
    </svg>
  )
}
