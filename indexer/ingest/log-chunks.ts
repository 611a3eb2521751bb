import type { LogEntry } from '../../shared/events/log-entry.ts'
import type { Db } from '../../shared/db/connect.ts'
import { EntryStream } from '../event-log/entry-stream.ts'
import { StepReader, type ChunkSize } from '../event-log/step-reader.ts'
import { isAboutChannel } from '../projections/segments.evolve.ts'
import { GatheredSteps } from './project.ts'

/** Whole steps of the log that are folded in one transaction. */
export interface Chunk {
  steps: LogEntry[] | GatheredSteps
  /** Undefined at the log's end: there are no steps. */
  lastPosition: number | undefined
  isAboutChannels: boolean
}

/** Of the rows of a chunk: two chunks and what is asked for ahead may be held at once, and a log may be all junk of 128 KiB an entry. */
const MOST_BYTES = 32 * 1024 * 1024
/** Once there are payment channels (then each step is folded by itself, and an interruption waits for a chunk), and at the end. */
export const CHUNK_WITH_CHANNELS: ChunkSize = { entries: 500, bytes: MOST_BYTES }

export interface ChunkSizes {
  /** Gathered and folded in one transaction: the more, the fewer loans are written twice, and the more of them are held. */
  gathered: ChunkSize
  /** Of entries that are held until they are folded. */
  whole: ChunkSize
}

const SIZES: ChunkSizes = {
  gathered: { entries: 16_000, bytes: MOST_BYTES },
  whole: { entries: 8_000, bytes: MOST_BYTES },
}

/** As many chunks at most are read whole before it is tried again whether the next one can be gathered. */
const MOST_DOUBTED = 64

/**
 * Reads the log in chunks. Of steps of appends, as long as there are no payment channels, entries are gathered as they are read.
 * Where another step comes, that chunk is read once more, whole; and so is the one after it, then two, four and so on, for a log
 * with many such steps is not to be read twice. One call at a time.
 */
export class LogChunks {
  readonly #db: Db
  readonly #sizes: ChunkSizes
  #position: number
  #stream: EntryStream | undefined
  #reader: StepReader | undefined
  /** Chunks that are to be read whole. */
  #whole: number
  #nextDoubted = 1

  constructor(db: Db, after: number, withChannels: boolean, sizes = SIZES) {
    this.#db = db
    this.#position = after
    this.#sizes = withChannels ? { ...sizes, whole: CHUNK_WITH_CHANNELS } : sizes
    this.#whole = withChannels ? Infinity : 0
  }

  async next(): Promise<Chunk> {
    const chunk = (this.#whole === 0 ? await this.#gather() : undefined) ?? (await this.#read())
    this.#position = chunk.lastPosition ?? this.#position
    return chunk
  }

  /** Undefined where that cannot be done. */
  async #gather(): Promise<Chunk | undefined> {
    this.#stream ??= new EntryStream(this.#db, this.#position)
    const steps = new GatheredSteps()
    if (await this.#stream.next(this.#sizes.gathered, (entry) => steps.take(entry))) {
      this.#nextDoubted = 1
      return { steps, lastPosition: steps.lastPosition, isAboutChannels: false }
    }
    this.#stream = undefined
    this.#whole = this.#nextDoubted
    this.#nextDoubted = Math.min(2 * this.#nextDoubted, MOST_DOUBTED)
    return undefined
  }

  async #read(): Promise<Chunk> {
    this.#reader ??= new StepReader(this.#db, this.#position)
    const steps = await this.#reader.next(this.#sizes.whole)
    this.#whole -= 1
    if (this.#whole === 0) this.#reader = undefined
    return { steps, lastPosition: steps.at(-1)?.position, isAboutChannels: steps.some(isAboutChannel) }
  }
}
