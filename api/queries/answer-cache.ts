import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { ReadDatabase, Statement } from './read-database.ts'

/** An answer's JSON text, with its strong entity tag (RFC 9110, section 8.8.3). */
export interface Answer {
  body: Buffer
  etag: string
  /** How far the index was at the answer's moment; unset where an answer is not of a moment. */
  indexed?: Indexed
  /** Set for an answer about the past that no later block changes. */
  isSettled?: boolean
}

/** Null where an answer is not of a moment. */
export type Indexed = {
  /** The last position of the log that the answer has. */
  position: number
  /** The last indexed block or epoch by the network's name. */
  heights: Record<string, number>
} | null

/** An answer's JSON from one statement, with the version of the read model that the statement saw. */
export interface Found {
  answer: string
  version: string
  indexed: Indexed
}

interface VersionedAnswer extends Answer {
  version: string
  indexed: Indexed
}

type Asking = Promise<VersionedAnswer | undefined>

/** {@link Indexed} as json. */
export const INDEXED_JSON = `(
  select json_build_object('position', folded_position, 'heights', coalesce((
    select json_object_agg(network, number) from ledger.chain_position where number is not null
  ), '{}'::json)) from projection.fold_state
)`

/** The same as a column. */
export const INDEXED = `${INDEXED_JSON} as indexed`

/**
 * Columns that each statement of an answer has. Each step and each replay writes a new random version, so no two states
 * of the read model share one. A block without events moves the heights alone.
 */
export const READ_MODEL_STATE = `(select version from projection.fold_state) as version, ${INDEXED}`

const STATE: Statement = { name: 'read-model-version', text: `select ${READ_MODEL_STATE}` }

/** Bytes of all kept answers together. */
const MOST_BYTES = 32 * 1024 * 1024
/** Approximate memory of a kept answer beside its texts, in bytes. */
const OVERHEAD_BYTES = 500

/** `mostBytes` is the bound on kept answers; 0 keeps none. */
export function createAnswerCache(
  database: Pick<ReadDatabase, 'rows' | 'onLoss'>,
  mostBytes = MOST_BYTES,
): AnswerCache {
  return new AnswerCache(database, mostBytes)
}

/**
 * Keeps answers while the read model does not change. Requests for kept answers look up the version, one look-up for
 * all that arrive together. No answer is older than its request, and many requests share one short look-up. An answer
 * that is not kept costs only its own statement.
 */
export class AnswerCache {
  readonly #kept: LRUCache<string, VersionedAnswer>
  /**
   * Statements started after that version was seen. A later look-up that finds the same version confirms their answers.
   */
  readonly #asking = new Map<string, Asking>()
  readonly #database: Pick<ReadDatabase, 'rows' | 'onLoss'>
  readonly #mostBytes: number
  #version = ''
  #indexed: Indexed = null
  #lookUps = 0
  #newestLookUp = 0
  #next: Promise<void> | undefined

  constructor(database: Pick<ReadDatabase, 'rows' | 'onLoss'>, mostBytes: number) {
    this.#database = database
    this.#mostBytes = mostBytes
    this.#kept = new LRUCache({ maxSize: Math.max(1, mostBytes) })
    // The next server may have another history.
    database.onLoss(() => this.#see('', ++this.#lookUps))
  }

  /**
   * Returns the answer to a question as the read model gives it at some moment after the call. `ask` runs when the
   * answer is not kept; undefined is never kept.
   */
  async answer(question: string, ask: () => Promise<Found | undefined>): Promise<Answer | undefined> {
    if (this.#kept.has(question) || this.#asking.has(question)) {
      await this.#refresh()
      const kept = this.#kept.get(question)
      // A replica that is behind may have given an answer of an older version.
      if (kept?.version === this.#version) return { ...kept, indexed: this.#indexed }
      const asking = this.#asking.get(question)
      if (asking !== undefined) return asking
    }
    const asking = ask().then((found) =>
      found === undefined
        ? undefined
        : { ...taggedAnswer(found.answer, found.indexed), version: found.version },
    )
    this.#asking.set(question, asking)
    void this.#keep(question, asking)
    return asking
  }

  async #keep(question: string, asking: Asking): Promise<void> {
    const answer = await asking.catch(() => undefined)
    // The read model changed meanwhile.
    if (this.#asking.get(question) !== asking) return
    this.#asking.delete(question)
    const size = question.length + (answer?.body.length ?? 0) + OVERHEAD_BYTES
    if (answer === undefined || size > this.#mostBytes) return
    this.#kept.set(question, answer, { size })
    // The read model changed since the last look-up, or another replica answered.
    if (answer.version !== this.#version) await this.#refresh().catch(() => undefined)
  }

  /** Kept answers are not older than the call once this resolves. */
  #refresh(): Promise<void> {
    this.#next ??= new Promise((resolve) => setImmediate(resolve)).then(() => this.#lookUp())
    return this.#next
  }

  async #lookUp(): Promise<void> {
    this.#next = undefined
    const own = ++this.#lookUps
    const [row] = await this.#database.rows<Pick<Found, 'version' | 'indexed'>>(STATE)
    this.#see(row?.version ?? '', own, row?.indexed ?? null)
  }

  #see(version: string, lookUp: number, indexed: Indexed = null): void {
    // A later look-up may have finished first.
    if (lookUp < this.#newestLookUp) return
    this.#newestLookUp = lookUp
    this.#indexed = indexed
    if (version === this.#version) return
    this.#version = version
    for (const [question, answer] of this.#kept.entries()) {
      if (answer.version !== version) this.#kept.delete(question)
    }
    this.#asking.clear()
  }
}

/** The answer with the tag of its text. `indexed` is unset where an answer is not of a moment. */
export function taggedAnswer(text: string, indexed?: Indexed): Answer & { indexed: Indexed } {
  const body = Buffer.from(text)
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  return { body, etag, indexed: indexed ?? null }
}
