import { createHash } from 'node:crypto'
import type { ReadDatabase, Statement } from './read-database.ts'

/** An answer's JSON as it is sent, and its strong entity tag (RFC 9110, section 8.8.3). */
export interface Answer {
  body: Buffer
  etag: string
}

export interface AnswerCache {
  /**
   * The answer to a question, as the read model says it at some moment after the call. `ask` is called when it is not
   * kept; what it finds nothing for is not kept either.
   */
  answer: (question: string, ask: () => Promise<string | undefined>) => Promise<Answer | undefined>
}

/** Each step of the writer writes this one row anew, and a replay puts another table in its place. */
const VERSION: Statement = {
  name: 'read-model-version',
  text: `select concat_ws(' ', tableoid, xmin, ctid) as version from projection.fold_state`,
}

/** Answers that are kept take so much at most, bytes; what comes after is asked each time, until the next step. */
const MOST_BYTES = 32 * 1024 * 1024
/** What keeping an answer takes beside its texts, about. */
const OVERHEAD_BYTES = 500

/**
 * Keeps answers for as long as the read model stays as it is. Whether it has is asked for every request, but once for all
 * that arrived together: so no answer is older than its request, and many requests cost one short look-up.
 */
export function createAnswerCache(database: Pick<ReadDatabase, 'rows'>, mostBytes = MOST_BYTES): AnswerCache {
  const kept = new Map<string, Promise<Answer | undefined>>()
  let bytes = 0
  let known = { version: '', asked: 0 }
  let asked = 0
  let next: Promise<void> | undefined

  /** What is kept when this resolves is not older than the call. */
  function refresh(): Promise<void> {
    next ??= new Promise((resolve) => setImmediate(resolve)).then(lookUp)
    return next
  }

  async function lookUp(): Promise<void> {
    next = undefined
    asked += 1
    const own = asked
    const [row] = await database.rows<{ version: string }>(VERSION)
    // A later look-up may have its answer already, and what is kept then is newer.
    if (own < known.asked) return
    const version = row?.version ?? ''
    if (version !== known.version) {
      kept.clear()
      bytes = 0
    }
    known = { version, asked: own }
  }

  async function keep(question: string, asking: Promise<Answer | undefined>): Promise<void> {
    const answer = await asking.catch(() => undefined)
    if (kept.get(question) !== asking) return
    const size = question.length + (answer?.body.length ?? 0) + OVERHEAD_BYTES
    if (answer === undefined || bytes + size > mostBytes) kept.delete(question)
    else bytes += size
  }

  return {
    async answer(question, ask) {
      await refresh()
      const found = kept.get(question)
      if (found !== undefined) return found
      const asking = ask().then((text) => (text === undefined ? undefined : toAnswer(text)))
      kept.set(question, asking)
      void keep(question, asking)
      return asking
    },
  }
}

function toAnswer(text: string): Answer {
  const body = Buffer.from(text)
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"` }
}
