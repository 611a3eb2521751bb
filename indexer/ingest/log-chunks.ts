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
  whole: { entries: 4_000, bytes: MOST_BYTES },
}

/** As many chunks at most are read whole before it is tried again whether the next one can be gathered. */
const MOST_WHOLE = 64

/**
 * Reads the log in chunks. Steps of appends are gathered as they are read, as long as there are no payment channels. Where another
 * step comes a chunk ends before it, and that step is read with all its entries, with as many after it as are a chunk; where such
 * steps come again and again, then two such chunks, four and so on. A step that is longer than what waits for its end, and turns
 * out to be another, is read once more from its chunk's beginning. One call at a time; one that failed can be made again.
 */
export class LogChunks {
  readonly #db: Db
  readonly #sizes: ChunkSizes
  #position: number
  #stream: EntryStream | undefined
  #reader: StepReader | undefined
  /** Chunks that are to be read whole. */
  #whole: number
  #nextWhole = 1

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

  /** Undefined where there is nothing that can be gathered, and no end of the log. */
  async #gather(): Promise<Chunk | undefined> {
    const stream = this.#stream ?? new EntryStream(this.#db, this.#position)
    // Where it fails or ends before another step, what it has read and not given is not to be missed.
    this.#stream = undefined
    const steps = new GatheredSteps()
    const areAll = await stream.next(this.#sizes.gathered, (entry) => steps.take(entry))
    if (areAll) steps.endStep()
    const { areWhole, lastPosition = this.#position } = steps
    const many = areWhole && lastPosition - this.#position >= this.#sizes.whole.entries
    if (areAll || many) this.#nextWhole = 1
    if (areAll) this.#stream = stream
    else {
      this.#whole = this.#nextWhole
      this.#nextWhole = Math.min(2 * this.#nextWhole, MOST_WHOLE)
      if (!areWhole || steps.lastPosition === undefined) return undefined
    }
    return { steps, lastPosition: steps.lastPosition, isAboutChannels: false }
  }

  async #read(): Promise<Chunk> {
    this.#reader ??= new StepReader(this.#db, this.#position)
    const steps = await this.#reader.next(this.#sizes.whole)
    this.#whole -= 1
    if (this.#whole === 0) this.#reader = undefined
    return { steps, lastPosition: steps.at(-1)?.position, isAboutChannels: steps.some(isAboutChannel) }
  }
}
