import { useRef } from 'preact/hooks'

/** When the reader received this answer, by the reader's clock in milliseconds. */
export function useSeenAt(answer: unknown): number {
  const seen = useRef({ answer, at: Date.now() })
  if (seen.current.answer !== answer) seen.current = { answer, at: Date.now() }
  return seen.current.at
}
