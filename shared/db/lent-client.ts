import type { PostgresCursor, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import type pg from 'pg'
import { from, type CopyStreamQuery } from 'pg-copy-streams'
import { losesSession } from './failures.ts'

/** A connection of a pool. The pool discards it after an error that means a lost session. */
export class LentClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient
  #isLost = false

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  query<R>(statement: string, parameters?: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query<R>(
    statement: string | PostgresCursor<R>,
    parameters: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof statement !== 'string') throw new Error('long results are read in pages, not by cursors')
    return this.#ask(statement, parameters)
  }

  /** Returns the stream that takes the rows of a `copy … from stdin`. */
  copyFrom(statement: string): CopyStreamQuery {
    const stream = this.#client.query(from(statement))
    stream.on('error', (error) => this.#note(error))
    return stream
  }

  release(isBroken = false): void {
    this.#client.release(isBroken || this.#isLost)
  }

  async #ask<R>(statement: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    try {
      return (await this.#client.query(statement, [...parameters])) as PostgresQueryResult<never>
    } catch (error) {
      this.#note(error)
      throw error
    }
  }

  #note(error: unknown): void {
    if (losesSession(error)) this.#isLost = true
  }
}
