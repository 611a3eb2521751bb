import { createHash } from 'node:crypto'
import type { ReadDatabase, Statement } from './read-database.ts'

/** An answer's JSON as it is sent, and its strong entity tag (RFC 9110, section 8.8.3). */
export interface Answer {
  body: Buffer
  etag: string
}

/** An answer's JSON as one statement found it, with the version of the read model that it saw. */
export interface Found {
  answer: string
  version: string
}

export interface AnswerCache {
  /**
   * The answer to a question, as the read model says it at some moment after the call. `ask` is called when it is not
   * kept; what it finds nothing for is not kept either.
   */
  answer: (question: string, ask: () => Promise<Found | undefined>) => Promise<Answer | undefined>
}

/** Each step, and a replay, writes another random one: no other state of the read model ever had it, on no timeline. */
export const READ_MODEL_VERSION = '(select version from projection.fold_state)'

const VERSION: Statement = { name: 'read-model-version', text: `select ${READ_MODEL_VERSION} as version` }

/** Answers that are kept take so much at most, bytes; what comes after is asked each time, until the next step. */
const MOST_BYTES = 32 * 1024 * 1024
/** What keeping an answer takes beside its texts, about. */
const OVERHEAD_BYTES = 500

/**
 * Keeps answers for as long as the read model stays as it is. Whether it has is asked for every request whose answer is
 * kept, but once for all that arrived together: so no answer is older than its request, and many requests cost one short
 * look-up. What is not kept costs its own statement and nothing else.
 */
export function createAnswerCache(
  database: Pick<ReadDatabase, 'rows' | 'onLoss'>,
  mostBytes = MOST_BYTES,
): AnswerCache {
  const kept = new Map<string, Kept>()
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
    if (version !== known.version) forget(version, own)
    known.asked = own
  }

  /** What is of another version; what is still being asked may be. */
  function forget(version: string, lookUp: number): void {
    for (const [question, one] of kept) if (one.version !== version) drop(question, one)
    known = { version, asked: lookUp }
  }

  // The next server may have another past.
  database.onLoss(() => {
    asked += 1
    forget('', asked)
  })

  function drop(question: string, one: Kept): void {
    if (kept.get(question) !== one) return
    kept.delete(question)
    bytes -= one.bytes
  }

  async function keep(question: string, one: Kept): Promise<void> {
    const answer = await one.asking.catch(() => undefined)
    const size = question.length + (answer?.body.length ?? 0) + OVERHEAD_BYTES
    if (answer === undefined || size > mostBytes) {
      drop(question, one)
      return
    }
    one.version = answer.version
    // Something was written since the last look-up, or another replica was asked.
    if (one.version !== known.version) await refresh().catch(() => undefined)
    if (kept.get(question) !== one) return
    if (one.version === known.version && bytes + size <= mostBytes) {
      one.bytes = size
      bytes += size
    } else {
      drop(question, one)
    }
  }

  /** What is still being asked counts: whoever waits for a look-up meanwhile knows that nothing was written. */
  function current(question: string): Kept | undefined {
    const one = kept.get(question)
    return one?.version === undefined || one.version === known.version ? one : undefined
  }

  return {
    async answer(question, ask) {
      if (kept.has(question)) {
        await refresh()
        const found = current(question)
        if (found !== undefined) return found.asking
      }
      const asking = ask().then((answer) => (answer === undefined ? undefined : toAnswer(answer)))
      const one: Kept = { asking, version: undefined, bytes: 0 }
      kept.set(question, one)
      void keep(question, one)
      return asking
    },
  }
}

interface Kept {
  asking: Promise<VersionedAnswer | undefined>
  /** Undefined while it is being asked. */
  version: string | undefined
  /** What it takes, once that is known. */
  bytes: number
}

interface VersionedAnswer extends Answer {
  version: string
}

function toAnswer({ answer, version }: Found): VersionedAnswer {
  const body = Buffer.from(answer)
  return { body, version, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"` }
}
