import type { ChainStep } from '../../shared/events/chain-step.ts'
import { joinEvidence } from '../../shared/events/join-evidence.ts'

type BlocksHead = Omit<Extract<ChainStep, { type: 'blocks' }>, 'events'>
type ReorgHead = Omit<Extract<ChainStep, { type: 'reorg' }>, 'events'>
type FinalizedHead = Extract<ChainStep, { type: 'finalized' }>

/** A step with its events as text, whose size is known and which can be joined without parsing. */
export interface EncodedStep {
  head: BlocksHead | ReorgHead | FinalizedHead
  /** The JSON of each event, joined by commas. */
  events: string
  /** Events of each kind. */
  kinds: Record<string, number>
  count: number
  /** Bytes of the events' text. */
  bytes: number
}

/** Limits of a joined step. A source's own step may be larger. */
export interface StepBounds {
  events: number
  bytes: number
  blocks: number
  /** Ranges of evidence: each has its own endpoint or check. */
  ranges: number
}

/** (pure) */
export function encodeStep(step: ChainStep): EncodedStep {
  if (step.type === 'finalized') return { head: step, events: '', kinds: {}, count: 0, bytes: 0 }
  const { events: read, ...head } = step
  const events = JSON.stringify(read).slice(1, -1)
  const kinds: Record<string, number> = {}
  for (const { kind } of read) kinds[kind] = (kinds[kind] ?? 0) + 1
  return { head, events, kinds, count: read.length, bytes: Buffer.byteLength(events) }
}

/** (pure) The step's JSON. */
export function textOf({ head, events }: EncodedStep): string {
  const text = JSON.stringify(head)
  return head.type === 'finalized' ? text : `${text.slice(0, -1)},"events":[${events}]}`
}

/** (pure) Joins two steps of consecutive blocks within the bounds; undefined if they must stay two. */
export function joinSteps(
  first: EncodedStep,
  second: EncodedStep,
  most: StepBounds,
): EncodedStep | undefined {
  const [before, after] = [first.head, second.head]
  if (before.type !== 'blocks' || after.type !== 'blocks') return undefined
  if (after.after?.number !== before.to.number || after.after.hash !== before.to.hash) return undefined
  if (first.count + second.count > most.events || first.bytes + second.bytes > most.bytes) return undefined
  if (after.to.number - before.from >= most.blocks) return undefined
  const evidence = joinEvidence(before.evidence, after.evidence)
  if (evidence.length > most.ranges) return undefined
  const kinds = { ...first.kinds }
  for (const [kind, count] of Object.entries(second.kinds)) kinds[kind] = (kinds[kind] ?? 0) + count
  return {
    head: { ...before, to: after.to, headers: [...before.headers, ...after.headers], evidence },
    // Not `join`: V8 adds strings without copying them, and a step is joined many times.
    events: first.events && second.events ? `${first.events},${second.events}` : first.events + second.events,
    kinds,
    count: first.count + second.count,
    bytes: first.bytes + second.bytes,
  }
}
