import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'

/**
 * Settings that determine everything else. An existing chain keeps its own values; those of a later start are ignored.
 */
const settingsSchema = z.strictObject({
  version: z.literal(1),
  seed: z.string(),
  networkName: z.string(),
  genesisTimeS: z.number(),
  epochDurationS: z.number(),
  settleDelayEpochs: z.number(),
})

/** `[miner, numbers of the messages in the order of their pushes]` */
const blockSchema = z.tuple([z.number(), z.array(z.number())])

const recordSchema = z.union([
  /** A pushed message, base64. */
  z.strictObject({ push: z.string(), keepRival: z.boolean().optional() }),
  /** A verified signature, so that loading need not verify it again. */
  z.strictObject({ checked: z.string(), valid: z.boolean() }),
  /** A tipset: the number of its parent in this journal, and CIDs of messages that ran out of gas. */
  z.strictObject({
    tipset: z.number(),
    on: z.number(),
    salt: z.string(),
    blocks: z.array(blockSchema),
    costly: z.array(z.string()).optional(),
  }),
  /** The number of the current head's tipset. */
  z.strictObject({ head: z.number() }),
  /** The next tipset's height, after null rounds. */
  z.strictObject({ next: z.number() }),
  /** A voucher of the node's store: base64, and the channel's robust address. */
  z.strictObject({ voucher: z.string(), channel: z.string() }),
])

export type ChainSettings = z.infer<typeof settingsSchema>
export type JournalRecord = z.infer<typeof recordSchema>

/**
 * The events of a chain in order, from which the chain is rebuilt. A cut-off last line is dropped when the file is
 * opened, so a kill never corrupts the journal.
 */
export interface Journal {
  settings: ChainSettings
  /** Records of earlier runs. */
  records: JournalRecord[]
  write(record: JournalRecord): void
  /** Writes pending records to the file. */
  flush(): void
  close(): void
}

/** Returns a journal for a chain that is not saved. */
export function noJournal(settings: ChainSettings): Journal {
  const nothing = (): void => undefined
  return { settings, records: [], write: nothing, flush: nothing, close: nothing }
}

/** Opens the file, or creates it with these settings. Throws if the file is no journal. */
export function openJournal(path: string, wanted: ChainSettings): Journal {
  mkdirSync(dirname(path), { recursive: true })
  const lines = existsSync(path) ? wholeLines(path) : []
  const [first, ...rest] = lines
  const settings = first === undefined ? wanted : settingsSchema.parse(JSON.parse(first))
  const file = openSync(path, 'a')
  ftruncateSync(file, Buffer.byteLength(lines.map((line) => `${line}\n`).join('')))
  let waiting: string[] = first === undefined ? [JSON.stringify(settings)] : []
  const flush = (): void => {
    if (waiting.length > 0) writeSync(file, `${waiting.join('\n')}\n`)
    waiting = []
  }
  return {
    settings,
    records: rest.map((line) => recordSchema.parse(JSON.parse(line))),
    write(record) {
      waiting.push(JSON.stringify(record))
      if (waiting.length > 1000) flush()
    },
    flush,
    close() {
      flush()
      closeSync(file)
    },
  }
}

/** Returns all lines but a last one that was cut off. */
function wholeLines(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)
}
