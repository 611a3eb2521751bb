import { encodeBigInt } from '../big-integer.ts'
import { CborWriter } from '../cbor-writer.ts'
import { cidOfBytes } from '../cid.ts'
import { DecodeError } from '../decode-error.ts'
import { sameBytes } from '../bytes.ts'

/** A participant of F3. Its place in the table numbers it as a signer. */
export interface PowerEntry {
  /** The miner's actor number. */
  id: number
  /** Bytes of storage, above zero. */
  power: bigint
  /** A compressed BLS key, 48 bytes. */
  key: Uint8Array
}

/** Participants by falling power, then by rising number. */
export type PowerTable = readonly PowerEntry[]

/** The change of one participant from one table to the next. */
export interface PowerDelta {
  id: number
  power: bigint
  /** The new key; empty if it stays. */
  key: Uint8Array
}

/** The limit of go-f3, for entries and for changes. */
export const MOST_PARTICIPANTS = 8192
export const KEY_BYTES = 48

/** Powers are scaled to this total, so that few bits are enough for their sum. */
const SCALE = 0xffffn

const writer = new CborWriter()

/** Returns the CID of the table as it lies. */
export function powerTableCid(table: PowerTable): string {
  writer.begin().array(table.length)
  for (const { id, power, key } of table) writer.array(3).integer(id).bytes(encodeBigInt(power)).bytes(key)
  return cidOfBytes(writer.take())
}

/** Returns each participant's share of the scale, rounded down. The sum is therefore below the scale. */
export function scaledPowers(table: PowerTable): number[] {
  const total = table.reduce((sum, { power }) => sum + power, 0n)
  return table.map(({ power }) => Number((SCALE * power) / total))
}

export function sortedTable(entries: readonly PowerEntry[]): PowerTable {
  return entries.toSorted((one, other) =>
    one.power === other.power ? one.id - other.id : one.power > other.power ? -1 : 1,
  )
}

/**
 * Returns the table after the changes, which must be sorted by participant. Throws a DecodeError when a change does not
 * fit the table.
 */
export function changedTable(table: PowerTable, deltas: readonly PowerDelta[]): PowerTable {
  const entries = new Map(table.map((entry) => [entry.id, entry]))
  let last = -1
  for (const delta of deltas) {
    const refuse = (reason: string): never => {
      throw new DecodeError(`power of participant ${delta.id}: ${reason}`)
    }
    if (delta.id <= last) refuse('not in the order of participants')
    last = delta.id
    const { power, key } = changedEntry(entries.get(delta.id), delta, refuse)
    if (power === 0n) entries.delete(delta.id)
    else entries.set(delta.id, { id: delta.id, power, key })
  }
  if (entries.size > MOST_PARTICIPANTS) throw new DecodeError(`more than ${MOST_PARTICIPANTS} participants`)
  return sortedTable([...entries.values()])
}

function changedEntry(
  entry: PowerEntry | undefined,
  { power, key }: PowerDelta,
  refuse: (reason: string) => never,
): Pick<PowerEntry, 'power' | 'key'> {
  if (power === 0n && key.length === 0) refuse('an empty change')
  if (entry === undefined) {
    if (power <= 0n || key.length === 0) refuse('a new participant without power or key')
    return { power, key }
  }
  if (sameBytes(entry.key, key)) refuse('its key again')
  const sum = entry.power + power
  if (sum < 0n) refuse('below zero')
  if (sum === 0n && key.length > 0) refuse('a new key for one that leaves')
  return { power: sum, key: key.length > 0 ? key : entry.key }
}
