import type { FastifyBaseLogger } from 'fastify'
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import { messageOf } from '../../shared/errors.ts'
import { isBefore, type Cursor, type RecordEvent } from '../../shared/events/record-event.ts'
import { pause } from '../../shared/async/pause.ts'
import { DatabaseAway, type ReadDatabase } from '../queries/read-database.ts'
import { getFinality, getRecordEvents, getStreamState } from '../queries/record-events.ts'
import { finalityText, recordsText } from './event-text.ts'

/** Changes of the history as they are sent, and the place after them. */
export interface Page {
  text: Buffer
  /** The same changes, for streams that filter them. */
  events: RecordEvent[]
  next: Cursor
}

const LOOK_EVERY_MS = 100
/** Pages that streams read behind the head; the other connections are for requests. */
const READS_AT_ONCE = 2
/** Bytes of the pages that are kept for streams a little behind. */
const MOST_KEPT_BYTES = 8 * 1024 * 1024
const OVERHEAD_BYTES = 200
/** Memory of a page's changes and their text, by the length of the text. */
const BYTES_OF_TEXT = 4

/**
 * The history's changes for all streams of this process. It looks at the log's head while a stream is open, and reads
 * each page once for all of them. It needs nothing but statements, so it works on a replica.
 */
export class RecordFeed {
  readonly #database: ReadDatabase
  readonly #log: FastifyBaseLogger
  readonly #pages = new LRUCache<string, Page>({
    maxSize: MOST_KEPT_BYTES,
    sizeCalculation: ({ text }) => BYTES_OF_TEXT * text.length + OVERHEAD_BYTES,
  })
  readonly #reading = new Map<string, Promise<Page | undefined>>()
  readonly #turns = pLimit(READS_AT_ONCE)
  #at: Cursor = { position: 0, skip: 0 }
  #finality: { text: Buffer; version: number; finalized: string } = {
    text: Buffer.alloc(0),
    version: 0,
    finalized: '',
  }
  #streams = 0
  #ending = new AbortController()
  #news = new News()

  constructor(database: ReadDatabase, log: FastifyBaseLogger) {
    this.#database = database
    this.#log = log
  }

  /** The newest finality, true of a history at {@link RecordFeed.at}; its version rises. */
  get finality(): { text: Buffer; version: number } {
    return this.#finality
  }

  /** The place after the newest changes. */
  get at(): Cursor {
    return this.#at
  }

  /** Resolves to the place after all changes of now. Throws DatabaseAway. */
  async now(): Promise<Cursor> {
    return { position: (await getStreamState(this.#database)).head, skip: 0 }
  }

  /** Looks at the log as long as one stream is open. `from` is the place of the first. */
  open(from: Cursor): void {
    this.#streams += 1
    if (this.#streams > 1) return
    this.#at = from
    this.#finality = { text: Buffer.alloc(0), version: this.#finality.version + 1, finalized: '' }
    this.#ending = new AbortController()
    void this.#follow(this.#ending.signal)
  }

  close(): void {
    this.#streams -= 1
    if (this.#streams > 0) return
    this.#ending.abort()
    this.wake()
  }

  /** Resolves at the next news, or when all streams are woken. */
  news(): Promise<void> {
    return this.#news.wait()
  }

  wake(): void {
    this.#news.tell()
  }

  /** Returns the changes after a place that is before {@link RecordFeed.at}; undefined if a replica has none yet. */
  async page(after: Cursor): Promise<Page | undefined> {
    const key = `${after.position}.${after.skip}`
    const kept = this.#pages.get(key)
    if (kept !== undefined) return kept
    let reading = this.#reading.get(key)
    if (reading === undefined) {
      const upTo = this.#at.position + (this.#at.skip > 0 ? 1 : 0)
      reading = this.#turns(() => this.#read(after, upTo)).finally(() => this.#reading.delete(key))
      this.#reading.set(key, reading)
    }
    return reading
  }

  async #read(after: Cursor, upTo: number): Promise<Page | undefined> {
    const { events, next } = await getRecordEvents(this.#database, after, upTo)
    if (!isBefore(after, next)) return undefined
    const page = { text: recordsText(events, next), events, next }
    this.#pages.set(`${after.position}.${after.skip}`, page)
    return page
  }

  async #follow(signal: AbortSignal): Promise<void> {
    let isAway = false
    while (!signal.aborted) {
      try {
        await this.#look(signal)
        isAway = false
      } catch (error) {
        if (!(error instanceof DatabaseAway))
          this.#log.error({ err: error }, 'the stream cannot read the log')
        else if (!isAway)
          this.#log.warn({ error: messageOf(error.cause) }, 'the stream waits for the database')
        isAway = true
      }
      await pause(LOOK_EVERY_MS, signal)
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const state = await getStreamState(this.#database)
    const { finalized } = state
    const moved = finalized === this.#finality.finalized ? undefined : await getFinality(this.#database)
    const head = Math.max(state.head, moved?.head ?? 0)
    while (this.#at.position < head && !signal.aborted) {
      const page = await this.#read(this.#at, head)
      // Undefined: another replica, which is behind, answered. The other: a new stream began elsewhere meanwhile.
      if (page === undefined || this.#ending.signal !== signal) return
      this.#at = page.next
      this.wake()
    }
    if (moved === undefined || signal.aborted) return
    // Only a history at that head has it: a later entry may retract a record that seems final here.
    this.#finality = { text: finalityText(moved.final), version: this.#finality.version + 1, finalized }
    this.wake()
  }
}

/** One promise for all who wait, however many. */
class News {
  #tell: () => void = () => undefined
  #next = this.#promise()

  wait(): Promise<void> {
    return this.#next
  }

  tell(): void {
    const tell = this.#tell
    this.#next = this.#promise()
    tell()
  }

  #promise(): Promise<void> {
    return new Promise((resolve) => (this.#tell = resolve))
  }
}
