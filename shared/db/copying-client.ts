import { TLSSocket } from 'node:tls'
import type { PostgresCursor, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import { messageOf } from '../errors.ts'
import { arraysAsText } from './array-text.ts'
import { losesSession } from './failures.ts'

/**
 * The only parameter of a `copy … from stdin`: rows as the statement says that they come, cut anywhere. A part is good until the
 * next one is asked for, or, of those that are kept, until all are copied. It is made when those before it are on their way, but
 * over TLS: Postgres copies them meanwhile.
 */
export class CopyBytes {
  readonly parts: Iterable<Uint8Array>
  readonly areKept: boolean

  constructor(parts: Iterable<Uint8Array>, { areKept }: { areKept: boolean }) {
    this.parts = parts
    this.areKept = areKept
  }
}

/** The only parameter of a `copy … to stdout`: who takes its messages, each of which is good while it is taken. */
export class CopyTaker {
  readonly take: (message: Buffer) => void

  constructor(take: (message: Buffer) => void) {
    this.take = take
  }
}

/** A client that calls back: with null and what was answered, or with what failed. */
interface CallingClient {
  query<R>(
    statement: string,
    parameters: unknown[],
    done: (error: Error | null, result: PostgresQueryResult<R>) => void,
  ): void
}

/**
 * A connection that Kysely knows one way to ask of; what goes another way, a parameter of {@link CopyBytes} or {@link CopyTaker}
 * tells.
 */
export class CopyingClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient
  readonly #asked: PostgresPoolClient
  readonly #calling: CallingClient
  #isLost = false

  constructor(client: pg.PoolClient) {
    this.#client = client
    this.#asked = client
    this.#calling = client
  }

  query<R>(statement: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query<R>(
    asked: string | PostgresCursor<R>,
    parameters: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof asked !== 'string') return this.#asked.query(asked)
    const [only] = parameters
    if (only instanceof CopyBytes) return this.#copy((done) => new CopyInQuery(asked, only, done))
    if (only instanceof CopyTaker) return this.#copy((done) => new CopyOutQuery(asked, only.take, done))
    return this.#ask(asked, parameters.map(arraysAsText))
  }

  /** The pool discards the connection when it is broken, or when a statement failed as only a lost session lets it fail. */
  release(isBroken = false): void {
    this.#client.release(isBroken || this.#isLost)
  }

  #fail(error: Error, reject: (error: Error) => void): void {
    if (losesSession(error)) this.#isLost = true
    reject(error)
  }

  /**
   * Of pg's own promise the callback is a function that is assigned to a property. V8 makes such a function in the old generation
   * at once, and what it leads to, all rows of the answer, stays until that is collected as a whole (docs/performance.md).
   */
  #ask<R>(statement: string, parameters: unknown[]): Promise<PostgresQueryResult<R>> {
    return new Promise((resolve, reject) => {
      this.#calling.query<R>(statement, parameters, (error, result) => {
        if (error === null) resolve(result)
        else this.#fail(error, reject)
      })
    })
  }

  #copy(toQuery: (done: CopyDone) => pg.Query): Promise<PostgresQueryResult<never>> {
    return new Promise((resolve, reject) => {
      const query = toQuery((error) => {
        // A null says that there is none, whatever its type says.
        if (error) this.#fail(error, reject)
        else resolve({ command: 'SELECT', rowCount: 0, rows: [] })
      })
      this.#client.query(query)
    })
  }
}

type CopyDone = (error: Error | null | undefined) => void

/** Kinds of messages, and what stands before what a message says: its kind and the length of itself and the rest. */
const COPY_DATA = 'd'.charCodeAt(0)
const COPY_DONE = 'c'.charCodeAt(0)
const COPY_FAIL = 'f'.charCodeAt(0)
const LENGTH_BYTES = 4
const HEADER_BYTES = 1 + LENGTH_BYTES

/**
 * A copy whose rows go out with it. The server reads on when it has begun to copy, and passes over what comes where it
 * refused to (its manual, Frontend/Backend Protocol, "COPY Operations"): to wait for its word would cost a turn for nothing.
 * Where a row cannot be made the server is told that the copy failed, and whoever asked for it why.
 */
class CopyInQuery extends pg.Query {
  readonly #statement: string
  readonly #bytes: CopyBytes
  #failure: Error | undefined

  constructor(statement: string, bytes: CopyBytes, done: CopyDone) {
    super(statement, (error) => done(this.#failure ?? error))
    this.#statement = statement
    this.#bytes = bytes
  }

  override submit = (connection: pg.Connection): void => {
    const { stream } = connection
    // What is one part goes out at once, with its statement and its end. Over TLS all of it does: what follows a first write
    // waits for a turn of the event loop there, so nothing is gained, and more is held meanwhile (docs/performance.md).
    const leavesInParts = !(stream instanceof TLSSocket)
    stream.cork()
    try {
      connection.query(this.#statement)
      let made = 0
      for (const part of this.#bytes.parts) {
        if (made > 0 && leavesInParts) {
          stream.uncork()
          stream.cork()
        }
        made += 1
        const header = messageHeader(COPY_DATA, part.length)
        if (this.#bytes.areKept) {
          stream.write(header)
          stream.write(part)
        } else stream.write(Buffer.concat([header, part]))
      }
      stream.write(messageHeader(COPY_DONE))
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(messageOf(error))
      const words = Buffer.from('a row could not be made\0')
      stream.write(Buffer.concat([messageHeader(COPY_FAIL, words.length), words]))
    } finally {
      stream.uncork()
    }
  }

  /** The server's word that it copies. */
  handleCopyInResponse(): void {
    // The rows are on their way.
  }
}

/** Where a message cannot be taken, those after it are passed over, and that is what failed. */
class CopyOutQuery extends pg.Query {
  readonly #statement: string
  readonly #take: (message: Buffer) => void
  #failure: Error | undefined

  constructor(statement: string, take: (message: Buffer) => void, done: CopyDone) {
    super(statement, (error) => done(this.#failure ?? error))
    this.#statement = statement
    this.#take = take
  }

  override submit = (connection: pg.Connection): void => {
    connection.query(this.#statement)
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    if (this.#failure !== undefined) return
    try {
      this.#take(chunk)
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(messageOf(error))
    }
  }
}

function messageHeader(kind: number, bytes = 0): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUInt8(kind)
  header.writeUInt32BE(LENGTH_BYTES + bytes, 1)
  return header
}
