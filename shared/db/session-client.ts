import type pg from 'pg'
import {
  beginSession,
  ReadOnlySession,
  readOnlyReason,
  WRITING,
  type Begun,
  type Session,
} from './session.ts'
import { SteadyClient } from './steady-client.ts'

export type SessionConfig = pg.ClientConfig & {
  /** Defaults to {@link WRITING}. */
  session?: Session
}

/**
 * A client whose session has its settings before its first use. Connecting rejects with a {@link ReadOnlySession} if
 * the session must write but cannot.
 */
export class SessionClient extends SteadyClient {
  readonly #session: Session

  constructor(config: SessionConfig = {}, session = config.session ?? WRITING) {
    super(config)
    this.#session = session
  }

  override connect(): Promise<pg.Client>
  override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void
  override connect(
    callback?: ((error: Error) => void) | ((error: null, client: pg.Client) => void),
  ): Promise<pg.Client> | undefined {
    const connected = this.#begin()
    if (callback === undefined) return connected
    const done = callback as (error: Error | null, client?: pg.Client) => void
    connected.then(
      (client) => done(null, client),
      (error: unknown) => done(error as Error),
    )
    return undefined
  }

  async #begin(): Promise<pg.Client> {
    await super.connect()
    try {
      const { rows } = await this.query<Begun>(beginSession(this.#session))
      const reason = rows[0] && readOnlyReason(rows[0])
      if (this.#session.writes && reason !== undefined) throw new ReadOnlySession(reason)
    } catch (error) {
      // A pool drops a client that failed to connect, but leaves it open.
      this.end().catch(() => undefined)
      throw error
    }
    return this
  }
}
