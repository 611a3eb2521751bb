import pg from 'pg'

/**
 * A connection whose loss does not end the process when nobody listens: while it is lent to a transaction, between two
 * of its statements. The next statement will tell.
 */
export class SteadyClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    this.on('error', () => undefined)
  }
}
