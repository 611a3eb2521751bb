import pg from 'pg'

/**
 * The process would end without a listener when a connection is lost between two statements. The next statement fails
 * anyway.
 */
export class SteadyClient extends pg.Client {
  constructor(config: string | pg.ClientConfig = {}) {
    super(config)
    this.on('error', () => undefined)
  }
}
