import type {
  ContractRole,
  EvmEventArgs,
  EvmEventKind,
  HexText,
  UintText,
} from '../../../shared/events/chain-event.ts'
import { EVENT_LAYOUTS } from './contracts.ts'
import { decodeFields } from './decode-abi.ts'
import { storableText } from '../rpc/foreign-text.ts'

/** A decoded event, or the reason why the log is none. */
export type DecodedLog =
  | { [K in EvmEventKind]: { kind: K; contractLoanId: UintText; args: EvmEventArgs[K] } }[EvmEventKind]
  | { kind: 'Undecodable'; reason: string; topics: HexText[]; dataHead: HexText; dataBytes: number }

export type DecodedEvent = Exclude<DecodedLog, { kind: 'Undecodable' }>

/** Bytes. The protocol's `bytes` are addresses and secrets, so a log with more data is recorded as undecodable. */
const MAX_DATA_BYTES = 64 * 1024
const DATA_HEAD_BYTES = 256

interface RawLog {
  topics: readonly string[]
  /** Lower-case hex. */
  data: string
}

/** (pure) Decodes a log and never throws, since anyone can make a contract write any bytes. */
export function decodeLog(role: ContractRole, log: RawLog): DecodedLog {
  const dataBytes = (log.data.length - 2) / 2
  const undecodable = (reason: string): DecodedLog => ({
    kind: 'Undecodable',
    reason,
    topics: [...log.topics],
    dataHead: copyOf(log.data.slice(0, 2 + DATA_HEAD_BYTES * 2)),
    dataBytes,
  })
  const [topic] = log.topics
  if (topic === undefined) return undecodable('no topic')
  const layout = EVENT_LAYOUTS[role].get(topic)
  if (layout === undefined) return undecodable(`no event of ${role} has topic ${topic}`)
  if (log.topics.length > 1) return undecodable(`${layout.kind}: ${log.topics.length} topics instead of 1`)
  if (dataBytes > MAX_DATA_BYTES) return undecodable(`${layout.kind}: data of ${dataBytes} bytes`)
  try {
    const { loanId: contractLoanId, ...args } = decodeFields(layout, log.data)
    // The layout has exactly this kind's arguments, in ABI order, which the compiler cannot know.
    return { kind: layout.kind, contractLoanId, args } as DecodedEvent
  } catch (error) {
    return undecodable(`${layout.kind}: data does not decode (${shortReason(error)})`)
  }
}

/** Copies the text: V8's slice is a view that keeps the whole text in memory, and anyone can make that text long. */
function copyOf(hex: string): string {
  return Buffer.from(hex, 'latin1').toString('latin1')
}

/** ethers quotes the whole data in its messages, so only its code is kept. */
function shortReason(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return error instanceof Error ? storableText(error.message, 80) : 'unknown'
}
