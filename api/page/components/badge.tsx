import type { ComponentChildren } from 'preact'

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'evm' | 'fil'

/** One or two words about a thing. The tone repeats what the words say. */
export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}
